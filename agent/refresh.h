// SPDX-License-Identifier: Apache-2.0
// What is mounted after a policy was looked up is denied until the policy is looked up again: here, for whoever sees that something was
// mounted (the supervisor of `sbpf run`, `sbpf watch`).
#pragma once

#include "agent/cgroup.h"
#include "agent/kernel.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Looks up the paths of the policy in force for this cgroup, and publishes it again where they or the mounts changed. `own`: the policy
// that the caller began with, or nullptr; another one that came by `sbpf swap` is read from its text (agent/policy_text.h). False: another
// one has the host lock, or published meanwhile, and it is to be tried again. Nothing is to be done for a policy without paths, or without
// a text.
// Errors: those of compile_for(). The generation of before, which denies what it does not know, is in force then.
Result<bool> refresh_paths(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy* own);

}  // namespace sbpf::agent
