// SPDX-License-Identifier: Apache-2.0
// end_child(): for owners of a child process.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

namespace sbpf {

// Kills a child of ours and waits for it, and sets `pid` to -1; a number that is not positive is none. Killed also where it is
// about to end by itself: one that was stopped before would be waited for. Until it was waited for nobody else has its number.
inline void end_child(pid_t& pid) {
  if (pid > 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  pid = -1;
}

}  // namespace sbpf
