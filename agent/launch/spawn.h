// SPDX-License-Identifier: Apache-2.0
// How the sandboxed program's process starts.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/host/cgroup.h"
#include "agent/host/privileges.h"
#include "agent/launch/run_options.h"
#include "agent/launch/seccomp.h"
#include "base/fd.h"

namespace sbpf::agent {

// The settings that the child makes before exec. They are prepared before anything starts, so that after a mistake in
// the policy nothing starts.
struct Launch {
  Privileges privileges;
  SeccompFilters filters;
  // A socket to which the last filter's listener is sent, as it asks; -1: it does not, and what it refuses is not told.
  int listener_to = -1;
};

// The program's process, which goes through a flat list of steps, the last of which is exec.
struct Spawned {
  pid_t pid = -1;
  Fd pidfd;
  Fd report;  // readable once it has exec'd, has ended, or has said why it could not exec

  // Why it does not become the program, and ends; nothing: it has exec'd, or has ended. Waits until `report` is
  // readable: the program may lie on a file system that gives no answer. Asked once. "launch_failed" (a step before
  // exec); "command_not_found", "command_not_executable".
  std::optional<Error> why_not_started(const std::string& name) const;
};

// Clones a child straight into the cgroup, and does not wait for its exec. Errors: "spawn".
Result<Spawned> spawn(const Cgroup& cgroup, const Launch& launch, const RunOptions& options);

// In a child of the process `parent`: makes the settings, says through `report` that it is there, or why not
// (agent/host/told_error.h), waits for a byte from `go`, and becomes the program. It cannot gain privileges, is shown
// to nobody but root, has a session keyring of its own, no descriptors but stdio and pipes, and ends with its parent.
[[noreturn]] void become_when_told(const Launch& launch, const RunOptions& options, pid_t parent, int go, int report);

// Becomes the program: argv[0] is looked up in the PATH of `env`, as above. Returns why that failed:
// "command_not_found", "command_not_executable".
Error exec_program(const std::vector<std::string>& argv, const std::vector<std::string>& env);

}  // namespace sbpf::agent
