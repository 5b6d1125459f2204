// SPDX-License-Identifier: Apache-2.0
// How a program begins by two policies: that of the sandbox, and one of its own (`sbpf exec --policy`).
#pragma once

#include "agent/launch/spawn.h"
#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::agent {

// What only one of the two leaves, the program does not have: of capabilities, limits and system calls. Errors: those
// of the seccomp profile.
Result<void> tighten(Launch& launch, const policy::Policy& own);

}  // namespace sbpf::agent
