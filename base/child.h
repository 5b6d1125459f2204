// SPDX-License-Identifier: Apache-2.0
// cannot_start(), end_child(), state_of(): for owners of a child process; close_all_but(): for the child.
#pragma once

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/file.h"
#include "base/result.h"

namespace sbpf {

// There is no child, for what errno says.
inline tl::unexpected<Error> cannot_start() { return fail("spawn", SystemError{errno}, "cannot start a process"); }

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

// How the kernel names the state of a process: R (it runs, or would), T (stopped), t (traced)… R also where that cannot
// be told.
inline char state_of(pid_t pid) {
  const std::string text = read_file(fmt::format("/proc/{}/stat", pid));
  const auto comm = text.rfind(") ");
  return comm == std::string::npos || comm + 2 >= text.size() ? 'R' : text[comm + 2];
}

// Kills a child of ours, waits until it has ended, and sets `pid` to -1; a number that is not positive is none. Killed
// also where it is about to end by itself: one that was stopped before would be waited for. One that does not end
// within 0.2 s (a freezer of cgroup v1 holds it) is reaped by a later call. It ends at the caller's real-time priority,
// if the caller has one: on a busy host the caller would wait for it long.
inline void end_child(pid_t& pid) {
  static std::vector<pid_t> left;
  constexpr int kPatienceMs = 200;
  std::erase_if(left, [](pid_t old) { return ::waitpid(old, nullptr, WNOHANG) != 0; });
  if (pid > 0) {
    ::kill(pid, SIGKILL);
    sched_param priority{};
    const int policy = ::sched_getscheduler(0);
    if ((policy == SCHED_RR || policy == SCHED_FIFO) && ::sched_getparam(0, &priority) == 0)
      (void)::sched_setscheduler(pid, policy, &priority);
    const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    pollfd ended{pidfd.get(), POLLIN, 0};  // without a descriptor it waits for the whole time
    (void)::poll(&ended, 1, kPatienceMs);
    if (::waitpid(pid, nullptr, WNOHANG) == 0) left.push_back(pid);
  }
  pid = -1;
}

}  // namespace sbpf
