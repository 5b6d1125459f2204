// SPDX-License-Identifier: Apache-2.0
// Rolls a change back at once when its command is killed, where others wait for that: processes that it froze, and a
// policy that nobody was told of yet.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "agent/kernel/kernel.h"
#include "base/fd.h"

namespace sbpf::agent {

// A child process in a session of its own, so that signals to the command's process group do not reach it. If its
// parent ends before this object does, the child takes the host lock, rolls back (agent/sandbox/journal.h) and ends. If
// no child can be started, the next holder of the lock rolls back, as always.
class RollbackProcess {
 public:
  // For the sandbox of this cgroup and name. The caller holds `lock`, the host lock, and has begun no change.
  RollbackProcess(Kernel& kernel, const Fd& lock, std::uint64_t cgroup_id, const std::string& name);
  ~RollbackProcess();
  RollbackProcess(const RollbackProcess&) = delete;
  RollbackProcess& operator=(const RollbackProcess&) = delete;
  // From here on the child also takes the sandbox down, if its record was made at `created_ns` and its policy is still
  // the map of this number. Otherwise somebody else has taken the cgroup in, or swapped the policy, since.
  void take_down_if_killed(std::uint64_t created_ns, std::uint32_t policy_map) const;

 private:
  pid_t pid_ = -1;
  Fd pipe_;
};

}  // namespace sbpf::agent
