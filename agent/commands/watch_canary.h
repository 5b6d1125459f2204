// SPDX-License-Identifier: Apache-2.0
// Canaries of `sbpf watch`: in a separate process, so that a canary that hangs stops no pass, and without the host
// lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/commands/watch_child.h"
#include "agent/verify/quick_check.h"

namespace sbpf::agent {

struct CanaryAnswer {
  std::uint64_t cgroup_id = 0;
  std::int64_t started_ns = 0;  // CLOCK_MONOTONIC
  enum class Kind : unsigned char { denied, lost, not_run } kind = Kind::not_run;
  std::vector<Lost> lost;  // of `lost`: what did not deny, twice in a row
  std::string why;         // of `not_run`; empty: the sandbox ended or is frozen
  std::string limits;      // what others loosened, and was put back before the canary; with a hint: it could not be
  std::string limits_hint;

  // Did it begin when not all was back that a repair at `restored_at` (CLOCK_MONOTONIC, in ns) put back? It is not how
  // things are now.
  bool is_of_before(std::int64_t restored_at) const { return started_ns < restored_at; }
};

// One canary at a time.
class CanaryChild {
 public:
  CanaryChild();
  bool running() const { return child_.running(); }
  std::uint64_t cgroup_id() const { return cgroup_id_; }
  // To poll for reading; -1 if none runs.
  int fd() const { return child_.fd(); }
  // Starts one for this sandbox. Errors: "canary" with errno.
  Result<void> start(std::uint64_t cgroup_id);
  // Ends the running canary, and its process.
  void end() { child_.end(); }
  // Its answer, once it is there; one that took more than 60 s is killed and was not run.
  std::optional<CanaryAnswer> answer();

 private:
  WatchChild child_;
  std::uint64_t cgroup_id_ = 0;
  std::int64_t started_ns_ = 0;
};

}  // namespace sbpf::agent
