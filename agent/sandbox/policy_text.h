// SPDX-License-Identifier: Apache-2.0
// The text of the policy in force for a sandbox, and where its paths were looked up, kept in /run beside its image in the kernel: a policy
// whose paths are looked up again, as something was mounted, is compiled anew from it. Its hash is kept beside the pins, where nobody but
// the agent changes anything: whoever writes another text changes no policy by it.
#pragma once

#include <cstdint>

#include "agent/files/fs_view.h"
#include "agent/kernel/kernel.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Keeps them; of a policy without paths nothing is kept. Should that fail, what is mounted later stays denied, and the host's log says
// so. The caller holds the host lock.
void keep_policy_text(std::uint64_t cgroup_id, const policy::Policy& policy, const Looked& looked);

// The mount namespace in which the paths of this sandbox's policy were looked up; 0: nothing is kept of it.
std::uint64_t kept_mounts(std::uint64_t cgroup_id);

// Errors: "no_policy": nothing is kept, or something else lies there.
Result<KeptPolicy> read_policy_text(std::uint64_t cgroup_id);

void drop_policy_text(std::uint64_t cgroup_id);
// Of all; for who takes the pins away.
void drop_policy_texts();

}  // namespace sbpf::agent
