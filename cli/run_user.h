// SPDX-License-Identifier: Apache-2.0
// `sbpf run` of who is not root.
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
// itself is set here. `on_active` gets the service's status before the first instruction runs. Of the options name,
// argv, env and timeout count. Errors: those of ServiceClient and of agent::adopt(); "launch_failed",
// "command_not_found", "command_not_executable" as of agent::run().
Result<agent::RunResult> run_as_user(const policy::Policy& policy, const agent::RunOptions& options,
                                     const std::string& socket,
                                     const std::function<void(const nlohmann::ordered_json&)>& on_active);

}  // namespace sbpf::cli
