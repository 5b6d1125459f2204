// SPDX-License-Identifier: Apache-2.0
// Inside `sbpf watch`: an assignment whose sandbox is not there is put in force again.
#pragma once

#include <cstdint>
#include <string>

#include "agent/sandbox/assigned.h"

namespace sbpf::agent {

// An assignment without a sandbox.
struct Unconfined {
  std::uint64_t answered = 0;  // id of the cgroup at its path whose processes were answered as a loss; 0: none
  std::int64_t lost_at = 0;    // time of day, of that
  std::int64_t retry_at = 0;   // CLOCK_BOOTTIME
};

// In a separate process: puts the assignment of this name in force, and reports the result.
std::string attach_lines(const std::string& name);

}  // namespace sbpf::agent
