// SPDX-License-Identifier: Apache-2.0
#include "agent/host/deadline.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/child.h"

namespace sbpf::agent {
namespace {

// Touches nothing that others could fill, lock or stop.
[[noreturn]] void sleep_and_kill(int kill, const timespec& end, pid_t parent) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setsid();
  // Before all that computes in the sandbox, where that may be asked for.
  const sched_param lowest{1};
  (void)::sched_setscheduler(0, SCHED_RR, &lowest);
  if (::dup2(kill, 0) != 0) ::_exit(1);
  ::syscall(SYS_close_range, 1u, ~0u, 0u);
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR) {
  }
  ::_exit(::write(0, "1", 1) == 1 ? 0 : 1);
}

}  // namespace

Result<void> Deadline::start(const Cgroup& cgroup, std::chrono::steady_clock::time_point end) {
  const Fd kill(::openat(cgroup.fd(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
  if (!kill) return fail("deadline", SystemError{errno}, "cannot open cgroup.kill");
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(end.time_since_epoch()).count();
  const timespec at{ns / 1'000'000'000, ns % 1'000'000'000};
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) sleep_and_kill(kill.get(), at, parent);
  if (pid_ < 0) return fail("deadline", SystemError{errno}, "cannot start a process");
  return {};
}

Deadline::~Deadline() { end_child(pid_); }

}  // namespace sbpf::agent
