// SPDX-License-Identifier: Apache-2.0
// `sbpf run` and `sbpf exec` of a user other than root.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "agent/agent.h"
#include "agent/launch/run_options.h"
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

// The policy in force for a sandbox of the caller's, by way of sbpfd. Errors: "no_such_sandbox", "not_permitted",
// "no_policy", those of ServiceClient.
Result<policy::Policy> policy_of_user(const std::string& name, const std::string& socket);

// Runs another program in a live run of the caller's, whose policy this is, as agent::exec() does for root; of the
// options argv and the callbacks count. It begins in the caller's working directory. Errors: those of ServiceClient and
// of agent::adopt_into_live().
Result<agent::ExecResult> exec_as_user(const std::string& name, const policy::Policy& policy,
                                       const agent::ExecOptions& options, const std::string& socket,
                                       const std::function<void(const nlohmann::ordered_json&)>& on_active);

}  // namespace sbpf::cli
