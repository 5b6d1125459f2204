// SPDX-License-Identifier: Apache-2.0
// The end of a sandbox's time, whatever becomes of its supervisor meanwhile.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "agent/host/cgroup.h"

namespace sbpf::agent {

// A child of ours outside the sandbox, of a session of its own, that holds nothing but the sandbox's cgroup.kill: it
// sleeps, and when the time is up it kills all that is in the cgroup. It ends with its parent, and with this object.
class Deadline {
 public:
  Deadline() = default;
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // Starts it, to end at that time of CLOCK_MONOTONIC. Errors: "deadline".
  Result<void> start(const Cgroup& cgroup, std::chrono::steady_clock::time_point end);

 private:
  pid_t pid_ = -1;
};

}  // namespace sbpf::agent
