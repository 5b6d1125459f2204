// SPDX-License-Identifier: Apache-2.0
// The limits of a cgroup that a policy sets: set, read back, lifted.
#pragma once

#include <string>
#include <vector>

#include "agent/host/cgroup.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Sets pids.max, memory.max (no swap; all are killed when it runs out) and cpu.max. Errors: "limit_unenforceable" (a
// controller is missing), with the key.
Result<void> apply_limits(const Cgroup& cgroup, const policy::Limits& limits);

// Lifts the limits that `limits` does not set; a missing controller has nothing to lift. Call it after apply_limits, so
// that at no time there is no limit.
void lift_other_limits(const Cgroup& cgroup, const policy::Limits& limits);

// One limit of a cgroup that allows more than the policy does.
struct Loosened {
  std::string file;       // of the cgroup
  std::string requested;  // what the policy has there
  std::string effective;  // what is there; "none" where the kernel has no such file any more, "not known" where it
                          // cannot be read
};

// The cgroup's limits that allow more than `limits`. Somebody else's tighter limit is not included. For a cgroup that
// is gone, none.
std::vector<Loosened> loosened_limits(const Cgroup& cgroup, const policy::Limits& limits);

// Sets these limits again; tighter ones stay. The kernel makes room before it lowers memory.max, for as long as that
// takes. All are tried. Errors: "limit_unenforceable" for the first that cannot be set.
Result<void> tighten_limits(const Cgroup& cgroup, const policy::Limits& limits);

}  // namespace sbpf::agent
