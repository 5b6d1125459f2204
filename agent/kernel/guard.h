// SPDX-License-Identifier: Apache-2.0
// The guard of sbpf's own objects: whom the programs take for the agent, and the break-glass window. docs/GUARD.md
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "agent/kernel/kernel.h"
#include "agent/kernel/losses.h"

namespace sbpf::agent {

// Makes the executable of this process the agent: from here on no other one touches what is sbpf's. What it is already
// stays. Called by who loads, and by another executable that gets in through a break-glass window (an upgrade).
// Errors: "guard".
Result<void> become_agent(const Kernel& kernel);

// lock_host() for who may have to load the programs. Where none are pinned it waits first, at most 20 s, until no guard of
// another executable is in force any more: the kernel lets go of links some time after their last pin and descriptor, and
// whoever holds those may need the lock to end. Errors: "guarded", and those of lock_host().
Result<Fd> lock_host_to_load();

// Tells the programs where the pins are, once they are there: `directory`. Errors: "guard".
Result<void> guard_pins(const Kernel& kernel, const std::string& directory);

// What an open window, or one in which something was let through, takes from "active"; nothing otherwise.
std::optional<Degradation> guard_degradation(const Kernel& kernel);

// Puts an event of the agent's into the ring of a sandbox.
void announce_to(const Kernel& kernel, std::uint64_t cgroup_id, sbpf_reason reason, std::uint32_t detail);

}  // namespace sbpf::agent
