// SPDX-License-Identifier: Apache-2.0
// Inside `sbpf watch`: an assignment whose sandbox is not there is put in force again, by a process of its own, as that takes
// longer than a pass may.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "agent/assigned.h"
#include "base/fd.h"

namespace sbpf::agent {

// Attaches a cgroup; it ends with the object.
class AttachChild {
 public:
  AttachChild() = default;
  AttachChild(const AttachChild&) = delete;
  AttachChild& operator=(const AttachChild&) = delete;
  ~AttachChild();

  bool running() const { return pid_ > 0; }
  // Errors: "spawn" with errno.
  Result<void> start(const Assignment& assignment);
  // What became of it, once it has ended: an error of attach(), or success.
  std::optional<Result<void>> answer();

 private:
  pid_t pid_ = -1;
  Fd pipe_;
  std::string text_;
};

// An assignment without a sandbox.
struct Unheld {
  std::uint64_t answered = 0;  // id of the cgroup at its path whose processes were answered as a loss; 0: none
  std::int64_t lost_at = 0;    // time of day, of that
  std::int64_t retry_at = 0;   // CLOCK_BOOTTIME
};

}  // namespace sbpf::agent
