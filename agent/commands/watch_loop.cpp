// SPDX-License-Identifier: Apache-2.0
// The process of `sbpf watch`: one pass twice a second, and a canary between passes.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "agent/commands/watch.h"
#include "agent/commands/watch_state.h"
#include "agent/host/paths.h"
#include "base/memory.h"
#include "base/poll.h"

namespace sbpf::agent {
namespace {

// Two stay open for each sandbox (its cgroup, its policy), and 1,024, which most processes may have, are too few for
// 500.
void allow_descriptors() {
  constexpr rlim_t kEnough = 2 * SBPF_MAX_SANDBOXES + 256;
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= kEnough) return;
  const rlimit more{kEnough, std::max(now.rlim_max, kEnough)};
  if (::setrlimit(RLIMIT_NOFILE, &more) == 0) return;
  const rlimit most{std::min(now.rlim_max, kEnough), now.rlim_max};  // more is for CAP_SYS_RESOURCE
  (void)::setrlimit(RLIMIT_NOFILE, &most);
}

// Before all processes of ordinary priority, however many there are and whatever their nice values; it works for some
// milliseconds twice a second. Without the capability for that it goes on as it is, and says when it is late.
void run_first() {
  const sched_param lowest{1};
  (void)::setpriority(PRIO_PROCESS, 0, -20);
  (void)::sched_setscheduler(0, SCHED_RR, &lowest);
}

bool ends_with_stdin() {
  struct stat info {};
  return ::fstat(STDIN_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

}  // namespace

Result<void> watch(const WatchSink& sink) {
  if (::geteuid() != 0) return fail("not_permitted", "only root watches the sandboxes", "run sbpf as root", EPERM);
  const Fd lock(::open(std::string(kWatchLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail("watch_exists",
                lock ? "another `sbpf watch` runs on this host" : fmt::format("cannot open {}", kWatchLockFile),
                "one is enough: it watches every sandbox", errno);
  allow_descriptors();
  run_first();
  keep_memory_small();
  sigset_t mask, old;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGTERM);
  ::sigaddset(&mask, SIGINT);
  ::sigprocmask(SIG_BLOCK, &mask, &old);
  const Fd signals(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  const Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec when{{0, kPeriod}, {0, 1}};
  ::timerfd_settime(timer.get(), 0, &when, nullptr);
  std::int64_t due = now_ns();
  Watch watch(sink);
  const int end = ends_with_stdin() ? STDIN_FILENO : -1;
  Result<void> result;
  while (true) {
    std::array<pollfd, 4> waiting{
        {{signals.get(), POLLIN, 0}, {end, POLLIN, 0}, {watch.canary_fd(), POLLIN, 0}, {timer.get(), POLLIN, 0}}};
    if (poll_all(waiting.data(), waiting.size()) < 0 && errno != EINTR) break;
    signalfd_siginfo signal{};  // taken, or it would end the process when signals are let in again
    if (waiting[0].revents != 0 && ::read(signals.get(), &signal, sizeof signal) == sizeof signal) break;
    std::array<char, 256> ignored{};
    if (waiting[1].revents != 0 && ::read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) break;
    std::uint64_t ticks = 0;
    if (::read(timer.get(), &ticks, sizeof ticks) != sizeof ticks && waiting[2].revents == 0) continue;
    watch.read_canary();
    if (ticks == 0) {
      watch.start_canary();  // one after another: with many sandboxes, one a pass would not be one a minute for each
      continue;
    }
    const std::int64_t late = std::max<std::int64_t>(now_ns() - due, 0);
    due += static_cast<std::int64_t>(ticks) * kPeriod;
    result = watch.pass(late);
    if (!result) break;
  }
  watch.finish();
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  return result;
}

}  // namespace sbpf::agent
