// SPDX-License-Identifier: Apache-2.0
// How the sandboxed program's process starts.
#pragma once

#include <sys/types.h>

#include "agent/agent.h"
#include "agent/cgroup.h"
#include "base/fd.h"

namespace sbpf::agent {

// Clones a child straight into the cgroup, where it goes through a flat list of steps, the last of which is exec. Returns
// when it has exec'd, or has said why it could not: then it is gone. `pidfd` receives the child's.
// Errors: "spawn"; "command_not_found", "command_not_executable".
Result<pid_t> spawn(const Cgroup& cgroup, const RunOptions& options, Fd& pidfd);

}  // namespace sbpf::agent
