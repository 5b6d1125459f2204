// SPDX-License-Identifier: Apache-2.0
// Processes that root outside moved out of their sandbox.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "agent/kernel/kernel.h"

namespace sbpf::agent {

// Asks the kernel which processes of the sandbox are not in it, including those that they started since. Also labels
// every task that is in a sandbox and has no label yet (its first process, all tasks that `attach` found): so it is
// called once when these exist. Errors: "escaped_tasks" with errno, also when one could not be labelled.
Result<std::vector<pid_t>> find_escaped_tasks(const Kernel& kernel, std::uint64_t cgroup_id);

// Kills what find_escaped_tasks() finds, until it finds nothing more; a process is known by its pidfd, not by its
// number alone.
void kill_escaped_tasks(const Kernel& kernel, std::uint64_t cgroup_id);

}  // namespace sbpf::agent
