// SPDX-License-Identifier: Apache-2.0
// Where the paths of a policy lie: looked up in the sandbox's mount namespace, identified as the hooks see them.
#pragma once

#include <sys/types.h>

#include "agent/cgroup.h"
#include "agent/kernel.h"
#include "policy/image.h"
#include "policy/filesystem.h"

namespace sbpf::agent {

// Looks up every path of the policy's filesystem and exec rules, and every mount, as the process `pid` sees them (its root and its
// mount namespace; 0: this process's own). Nothing for a policy without such rules.
// Errors: "fs_view" (a path cannot be looked up, with its location), "inodes" (the kernel gave no answer).
Result<policy::FsView> look_up(const Kernel& kernel, const policy::Policy& policy, pid_t pid);

// Compiles the policy for a cgroup: its paths as the cgroup's first process sees them, or as this process does where there
// is none yet, or it shares our mount namespace. Errors: those of look_up() and of policy::compile().
Result<policy::Image> compile_for(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy,
                                  std::uint32_t generation);

}  // namespace sbpf::agent
