// SPDX-License-Identifier: Apache-2.0
// The question that status, verify, the supervisor of `run` and the watch all ask of the host: do the attached programs
// run?
#pragma once

#include <chrono>
#include <vector>

#include "agent/verify/liveness.h"
#include "agent/verify/quick_check.h"

namespace sbpf::agent {

struct HostProbe {
  std::vector<Lost> lost;     // proven: answered by on_loss
  std::vector<Lost> unknown;  // could not be told: degraded, and no loss
};

// What a pass of a supervisor or watch waits: it has others to look at.
inline constexpr auto kSentinelPatience = std::chrono::milliseconds(200);

// The cheap pass, for all sandboxes of the host, with what a sentinel has just found. Needs no lock.
HostProbe probe_host(const Kernel& kernel, const Liveness& alive);

// All that one sandbox lacks, and what of it cannot be told: of its own, as look_at() has it, of the host, and what
// `host` found. But for programs that run after ours, which are compared with those of before: LaterSeen.
std::vector<Lost> probe(const Kernel& kernel, const sbpf_sandbox& record, Sound& sound, Depth depth,
                        const HostProbe& host);

}  // namespace sbpf::agent
