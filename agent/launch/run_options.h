// SPDX-License-Identifier: Apache-2.0
// The options of `run`, and its result.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/host/usage.h"
#include "agent/sandbox/events.h"
#include "agent/sandbox/status.h"
#include "policy/policy.h"

namespace sbpf::agent {

struct RunOptions {
  std::string name;                                  // "" = made up
  std::vector<std::string> argv;                     // argv[0] is looked up in the PATH of `env`
  std::vector<std::string> env;                      // complete: "NAME=value"
  std::optional<std::chrono::milliseconds> timeout;  // already merged with the policy's
  std::optional<policy::User> user;                  // instead of the policy's
  std::optional<std::string> workspace;              // a directory that is to be /workspace
  std::vector<int> inherited;                        // descriptors that the program gets beside stdio, by these numbers
  // Called once, when the sandbox is verified and before the first instruction runs.
  std::function<void(const Status&)> on_active;
  // Called for losses found while the program runs, after on_loss was carried out. `lost`: "WHAT: WHY", one for each
  // part.
  std::function<void(const Status&, const std::vector<std::string>& lost)> on_loss;
  // Called with warnings: they do not weaken the isolation, but the operator should know them.
  std::function<void(const std::string&)> on_warning;
  // Called once the program runs, or was killed before it did.
  std::function<void()> on_started;
  // Called when the program has stopped (SIGSTOP and its kin).
  std::function<void(pid_t)> on_stopped;
  // Called twice a second while the program runs. None of these may wait for anything: the watch would wait with it.
  std::function<void()> on_pass;
  // Called for each event as it is read.
  std::function<void(const Event&)> on_event;
};

struct RunResult {
  std::optional<Error> not_started;  // why the program was not executed: Spawned::why_not_started()
  int exit_code = 0;                 // the program's, 128+n for signal n, 124 for a timeout
  int signal = 0;                    // that ended the program; 0: none did
  bool timed_out = false;
  bool killed_for_loss = false;  // its policy has on_loss: kill, and isolation was lost
  bool taken_down = false;       // by another command
  Usage usage;
  bool denials_known = true;                 // false: they could not be read, and there may be any number of them
  std::vector<Event> denials;                // those that on_event was not called for, as far as the log has them
  std::optional<std::uint64_t> lost_events;  // not known to users of the service
};

}  // namespace sbpf::agent
