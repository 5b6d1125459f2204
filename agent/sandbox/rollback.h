// SPDX-License-Identifier: Apache-2.0
// Who undoes at once what a command leaves half done when it is killed, where others wait for it: processes that it froze, and a
// policy that it told nobody of yet.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "agent/kernel/kernel.h"
#include "base/fd.h"

namespace sbpf::agent {

// A child with a session of its own, so that what is sent to the command's process group does not reach it. Should its parent end
// before this object, it takes the host lock, mends (agent/sandbox/journal.h) and ends. Where none can be started, whoever holds the lock next
// mends, as ever.
class Guardian {
 public:
  // Of the sandbox of this cgroup, by this name. The caller holds `lock`, the host lock, and has begun no change.
  Guardian(Kernel& kernel, const Fd& lock, std::uint64_t cgroup_id, const std::string& name);
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  // From here on it also takes the sandbox down, if it is the one whose record was made at `created_ns` and its policy is in the map of
  // this number still: another one may have taken it in, or swapped its policy, since.
  void undoes(std::uint64_t created_ns, std::uint32_t policy_map) const;

 private:
  pid_t pid_ = -1;
  Fd pipe_;
};

}  // namespace sbpf::agent
