// SPDX-License-Identifier: Apache-2.0
// A program of a user other than root: a child that sbpfd confines while it waits, and that is waited for here.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/launch/refused_calls.h"
#include "agent/launch/run_options.h"
#include "agent/launch/waiting_child.h"
#include "base/result.h"
#include "cli/format.h"
#include "cli/service_client.h"
#include "policy/policy.h"

namespace sbpf::cli {

// What the program's own process sets in itself for this policy, and for `own` beside it; nullptr: there is none.
// Errors: "needs_root" (agent::check_for_user()), those of the seccomp profiles.
Result<agent::Launch> launch_as_user(const policy::Policy& policy, const policy::Policy* own);

struct UserStart {
  const policy::Policy& policy;            // by which its process is set
  const policy::Policy* own = nullptr;     // and this one, which alone is in force for its sandbox
  const agent::RunOptions& options;        // argv, env, on_warning
  std::optional<agent::OwnPlaces> places;  // where it begins; nothing: where the caller is
  std::string socket, target;              // of sbpfd
  Json request;                            // what is asked for, beside the child's number
  std::string within;                      // the run in which its sandbox is; "": in none
  bool tells_calls = false;                // finish_user_program() follows, which answers what its filter asks
};

// It waits, in a sandbox of which sbpfd says that it is verified.
struct UserProgram {
  ServiceClient service;
  agent::WaitingChild child;
  agent::RefusedCalls calls;
  Json status;
};

// Errors: those of ServiceClient and of WaitingChild; "isolation_not_active": it is not what was asked for.
Result<UserProgram> confine_child(UserStart start);

// Lets it go on, and waits until it has ended; its sandbox ends with it. `policy`: the one in force for it.
// `on_denial` gets each denial once it has ended, `on_event` each event as it comes; sbpfd is asked for neither where
// it is empty. Errors: "service_lost", "spawn".
Result<agent::RunResult> finish_user_program(UserProgram& program, const policy::Policy& policy,
                                             const agent::RunOptions& options, const std::string& socket,
                                             const std::function<void(const Json&)>& on_denial,
                                             const std::function<void(const Json&)>& on_event);

}  // namespace sbpf::cli
