// SPDX-License-Identifier: Apache-2.0
// The text of the policy in force for a sandbox, kept in /run beside its image in the kernel: a policy whose paths are looked up again, as
// something was mounted, is compiled anew from it.
#pragma once

#include <cstdint>

#include "agent/kernel.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Keeps the text; of a policy without paths nothing is kept. Should that fail, what is mounted later stays denied, and the host's log says
// so. The caller holds the host lock.
void keep_policy_text(std::uint64_t cgroup_id, const policy::Policy& policy);

// Is there a text of this sandbox?
bool has_policy_text(std::uint64_t cgroup_id);

// The policy that the text says, if it is the one of this hash. Errors: "no_policy".
Result<policy::Policy> read_policy_text(std::uint64_t cgroup_id, const std::array<std::uint8_t, 32>& sha256);

void drop_policy_text(std::uint64_t cgroup_id);
void drop_policy_texts();

}  // namespace sbpf::agent
