// SPDX-License-Identifier: Apache-2.0
// A word from the command that ends a sandbox to the process that waits for the sandbox's program. It is for a message
// alone: where it cannot be said, nobody said it.
#pragma once

#include "agent/host/cgroup.h"

namespace sbpf::agent {

// Says that a command of sbpf's is about to end what runs in the cgroup.
void announce_end(const Cgroup& cgroup);

// Did one say so?
bool is_end_announced(const Cgroup& cgroup);

}  // namespace sbpf::agent
