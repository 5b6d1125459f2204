// SPDX-License-Identifier: Apache-2.0
// What a cgroup used, and where its limits held it back, by the counters that the kernel keeps for it.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/host/cgroup.h"

namespace sbpf::agent {

// Of the cgroup and all below it. A counter that the kernel does not have, or that cannot be read, is 0.
struct Usage {
  std::optional<std::uint64_t> memory_peak_bytes;  // kernels before 5.19 do not keep it
  std::optional<std::uint64_t> memory_limit_bytes;
  std::uint64_t out_of_memory = 0;  // how often its own limit of memory was reached and nothing could be freed
  std::uint64_t oom_kills = 0;      // its processes that the kernel killed for want of memory, the host's too
  std::optional<std::uint64_t> process_limit;
  std::uint64_t forks_refused = 0;  // processes and threads that a limit did not let it start
  std::uint64_t cpu_us = 0;
  std::uint64_t cpu_periods = 0;  // in which it ran, each as long as cpu.max says
  std::uint64_t cpu_throttled_periods = 0;
  std::uint64_t cpu_throttled_us = 0;  // of all its processes together

  friend bool operator==(const Usage&, const Usage&) = default;
};

// How much it used until now. Reads the cgroup's files, which everybody may.
Usage read_usage(const Cgroup& cgroup);

}  // namespace sbpf::agent
