// SPDX-License-Identifier: Apache-2.0
// Who mends at once what a command leaves half done when it is killed, where others wait for it: processes that it froze.
#pragma once

#include <sys/types.h>

#include "agent/kernel.h"
#include "base/fd.h"

namespace sbpf::agent {

// A child with a session of its own, so that what is sent to the command's process group does not reach it. It holds the host
// lock with its parent; should that end before this object, it mends (agent/change.h) and ends. Where none can be started,
// whoever holds the lock next mends, as ever.
class Guardian {
 public:
  // The caller holds the host lock, and has begun no change.
  explicit Guardian(Kernel& kernel);
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

 private:
  pid_t pid_ = -1;
  Fd pipe_;
};

}  // namespace sbpf::agent
