// SPDX-License-Identifier: Apache-2.0
// The kernel side's clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace sbpf {

// CLOCK_BOOTTIME in nanoseconds: what the programs stamp events with, and what a task's start is counted in.
inline std::uint64_t boottime_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace sbpf
