// SPDX-License-Identifier: Apache-2.0
// `sbpf run` of a user other than root.
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

}  // namespace sbpf::cli
