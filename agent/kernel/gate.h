// SPDX-License-Identifier: Apache-2.0
// The gate, by which the programs recognise the tasks of sandboxes: which cgroup they take for sbpf's root.
#pragma once

#include <cstdint>

#include "agent/kernel/kernel.h"

namespace sbpf::agent {

// Do the programs take the cgroup of this id for sbpf's root? `knows_root(kernel)`: the one that is there; also where
// that cannot be told.
bool knows_root(const Kernel& kernel, std::uint64_t root);
bool knows_root(const Kernel& kernel);
// Is the cgroup that they know proven to be gone?
bool lacks_root(const Kernel& kernel);
// Tells the programs sbpf's present root cgroup, in place of one that is gone or was edited away. The cgroup is made if
// it does not exist. The caller holds the host lock. Errors: those of root_cgroup().
Result<void> set_root(const Kernel& kernel);

}  // namespace sbpf::agent
