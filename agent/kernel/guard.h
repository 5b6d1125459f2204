// SPDX-License-Identifier: Apache-2.0
// The guard of sbpf's own objects: the agents that the programs accept, and the break-glass window. docs/GUARD.md
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "agent/kernel/kernel.h"
#include "agent/kernel/losses.h"

namespace sbpf::agent {

// Makes the executable of this process the agent: from here on no other executable may change sbpf's objects. What it
// is already stays. Called by the process that loads the programs, and by another executable that gets in through a
// break-glass window (an upgrade). Errors: "guard".
Result<void> become_agent(const Kernel& kernel);

// lock_host() for callers that may have to load the programs. If none are pinned, it first waits, at most 20 s, until
// no guard of another executable is in force any more. The kernel releases links some time after their last pin and
// descriptor are gone, and the holder of a descriptor may need the lock to end. Errors: "guarded", and those of
// lock_host().
Result<Fd> lock_host_to_load();

// Tells the programs the directory of the pins, once these exist. Errors: "guard".
Result<void> guard_pins(const Kernel& kernel, const std::string& directory);

// The degradation by a window that is open, or that let an operation through; nothing otherwise.
std::optional<Degradation> guard_degradation(const Kernel& kernel);

// Puts an event of the agent's into the ring of a sandbox.
void announce_to(const Kernel& kernel, std::uint64_t cgroup_id, sbpf_reason reason, std::uint32_t detail);

}  // namespace sbpf::agent
