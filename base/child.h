// SPDX-License-Identifier: Apache-2.0
// end_child(): for owners of a child process.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

namespace sbpf {

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
