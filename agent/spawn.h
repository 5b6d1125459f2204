// SPDX-License-Identifier: Apache-2.0
// How the sandboxed program's process starts.
#pragma once

#include <sys/types.h>

#include "agent/agent.h"
#include "agent/cgroup.h"
#include "agent/privileges.h"
#include "agent/seccomp.h"
#include "base/fd.h"

namespace sbpf::agent {

// What the child sets before exec; made before anything starts, so that a mistake in the policy starts nothing.
struct Launch {
  Privileges privileges;
  SeccompFilters filters;
};

// Clones a child straight into the cgroup, where it goes through a flat list of steps, the last of which is exec. Returns
// when it has exec'd, or has said why it could not: then it is gone. `pidfd` receives the child's.
// Errors: "spawn"; "launch_failed" (a step before exec); "command_not_found", "command_not_executable".
Result<pid_t> spawn(const Cgroup& cgroup, const Launch& launch, const RunOptions& options, Fd& pidfd);

// Becomes the program: argv[0] is looked up in the PATH of `env`, as above. Returns why that failed: "command_not_found",
// "command_not_executable".
Error exec_program(const std::vector<std::string>& argv, const std::vector<std::string>& env);

}  // namespace sbpf::agent
