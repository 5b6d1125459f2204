// SPDX-License-Identifier: Apache-2.0
// A file system mounted after a policy was looked up is denied until the policy is looked up again. The processes that
// notice the mount do so here (the supervisor of `sbpf run`, `sbpf watch`).
#pragma once

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "agent/sandbox/policy_text.h"

namespace sbpf::agent {

// Looks up the paths of the policy in force for this cgroup, and publishes it again where they or the mounts changed.
// No user asked for this look-up, so it looks only where the policy was looked up when it came into force: in that
// mount namespace and through those symbolic links. It does so only for policies under which nothing inside can mount.
// `own`: the policy that the caller began with, or nullptr; a policy that came by `sbpf swap` is read from its text
// (agent/sandbox/policy_text.h). False: another process has the host lock, or published meanwhile; try again. There is
// nothing to do for a policy without such paths, without a text, or without a process in that namespace. Errors: those
// of compile_for(). The generation of before, which denies what it does not know, is in force then.
Result<bool> refresh_paths(const Kernel& kernel, const Cgroup& cgroup, const KeptPolicy* own);

}  // namespace sbpf::agent
