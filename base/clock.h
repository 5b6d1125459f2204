// SPDX-License-Identifier: Apache-2.0
// The kernel side's clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace sbpf {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// CLOCK_BOOTTIME in nanoseconds: what the programs stamp events with, and what a task's start is counted in.
inline std::uint64_t boottime_ns() { return clock_ns(CLOCK_BOOTTIME); }

// CLOCK_MONOTONIC in nanoseconds: it does not count the time that the host sleeps.
inline std::uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

}  // namespace sbpf
