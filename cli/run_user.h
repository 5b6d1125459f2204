// SPDX-License-Identifier: Apache-2.0
// `sbpf run` and `sbpf exec` of a user other than root.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "agent/agent.h"
#include "agent/launch/run_options.h"
#include "agent/launch/spawn.h"
#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::cli {

// Runs a program in a sandbox that sbpfd at `socket` makes and verifies, and waits for it; what its process sets in
// itself is set here. `on_active` gets the service's status before the first instruction runs; `on_denial` each denial,
// as event_json() has it, once the program has ended; `on_event` each event as it comes. Of those that are empty
// sbpfd is asked for none. Of the options name, argv, env and timeout count. Errors: those of ServiceClient and of
// agent::adopt(). Why the program was not executed is in the result.
Result<agent::RunResult> run_as_user(const policy::Policy& policy, const agent::RunOptions& options,
                                     const std::string& socket,
                                     const std::function<void(const nlohmann::ordered_json&)>& on_active,
                                     const std::function<void(const nlohmann::ordered_json&)>& on_denial,
                                     const std::function<void(const nlohmann::ordered_json&)>& on_event);

// The policy in force for a sandbox of the caller's, by way of sbpfd, and the number of the mount namespace that its
// paths are of. Errors: "no_such_sandbox", "not_permitted", "no_policy", those of ServiceClient.
struct UsersPolicy {
  policy::Policy policy;
  std::uint64_t mounts = 0;
};
Result<UsersPolicy> policy_of_user(const std::string& name, const std::string& socket);

// Runs another program in a live run of the caller's, whose policy this is, as agent::exec() does for root; of the
// options argv and the callbacks count. Where the run has mounts of its own it begins in the working directory of its
// program, else in the caller's. Errors: those of ServiceClient and of agent::adopt_into_live().
Result<agent::ExecResult> exec_as_user(const std::string& name, const UsersPolicy& in_force,
                                       const agent::ExecOptions& options, const std::string& socket,
                                       const std::function<void(const nlohmann::ordered_json&)>& on_active);

// The same under a policy of the program's own, beside that of the run, as agent::exec_under() does for root; of
// `supervised` the timeout and the callbacks count. Errors: those of ServiceClient and of agent::adopt_under().
Result<agent::RunResult> exec_under_as_user(const std::string& name, const UsersPolicy& in_force,
                                            const policy::Policy& own, const agent::ExecOptions& options,
                                            agent::RunOptions supervised, const std::string& socket,
                                            const std::function<void(const nlohmann::ordered_json&)>& on_active,
                                            const std::function<void(const nlohmann::ordered_json&)>& on_denial);

}  // namespace sbpf::cli
