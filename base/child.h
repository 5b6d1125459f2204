// SPDX-License-Identifier: Apache-2.0
// end_child(): for owners of a child process; close_all_but(): for the child.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace sbpf {

// Closes all descriptors above 2 but these. 0, or the errno of what failed.
inline int close_all_but(std::vector<int> keep) {
  std::ranges::sort(keep);
  unsigned from = 3;
  for (const int fd : keep) {
    if (fd < 3) continue;  // where stdio was closed
    const auto kept = static_cast<unsigned>(fd);
    if (kept > from && ::syscall(SYS_close_range, from, kept - 1, 0u) != 0) return errno;
    from = kept + 1;
  }
  return ::syscall(SYS_close_range, from, ~0u, 0u) == 0 ? 0 : errno;
}

// Kills a child of ours and waits for it, and sets `pid` to -1; a number that is not positive is none. Killed also where it is
// about to end by itself: one that was stopped before would be waited for. Until it was waited for nobody else has its number.
// It ends at the caller's real-time priority, if the caller has one: on a busy host the caller would wait for it long.
inline void end_child(pid_t& pid) {
  if (pid > 0) {
    ::kill(pid, SIGKILL);
    sched_param priority{};
    const int policy = ::sched_getscheduler(0);
    if ((policy == SCHED_RR || policy == SCHED_FIFO) && ::sched_getparam(0, &priority) == 0) (void)::sched_setscheduler(pid, policy, &priority);
    ::waitpid(pid, nullptr, 0);
  }
  pid = -1;
}

}  // namespace sbpf
