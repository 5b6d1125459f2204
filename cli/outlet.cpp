// SPDX-License-Identifier: Apache-2.0
#include "cli/outlet.h"

#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sbpf::cli {
namespace {

constexpr std::size_t kAtOnce = 4096;  // a pipe with any room takes so much

// As write(2), of what has room. Whoever else writes may take that in between; then a timer ends the waiting.
ssize_t write_at_once(int fd, const char* data, std::size_t size) {
  pollfd room{fd, POLLOUT, 0};
  if (::poll(&room, 1, 0) != 1) {
    errno = EAGAIN;
    return -1;
  }
  struct sigaction interrupt {}, before {};
  interrupt.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &interrupt, &before);
  sigset_t alarm, mask;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm, &mask);
  // Again and again, as the first may come before write() has begun.
  const itimerval soon{{0, 20'000}, {0, 20'000}}, never{};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  const ssize_t n = ::write(fd, data, std::min(size, kAtOnce));
  const int error = errno;
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  errno = error;
  return n;
}

}  // namespace

bool Outlet::has_room(std::size_t size, Weight weight) const {
  return waiting_.size() + size <= (weight == Weight::important ? room_ : room_ / 2);
}

void Outlet::tell_count() {
  if (untold_ == 0) return;
  const std::string text = count_line_(untold_) + "\n";
  if (!has_room(text.size(), Weight::important)) return;
  waiting_ += text;
  untold_ = 0;
}

Result<void> Outlet::line(std::string_view text, Weight weight) {
  if (fd_ < 0) return {};
  if (has_room(text.size() + 1, weight)) {
    tell_count();
    waiting_.append(text).append("\n");
  } else {
    untold_++;
  }
  return flush();
}

Result<void> Outlet::flush() {
  // Not for ever, where somebody reads as fast as is written.
  for (std::size_t left = room_ / kAtOnce; fd_ >= 0 && !waiting_.empty() && left > 0; left--) {
    const ssize_t n = write_at_once(fd_, waiting_.data(), waiting_.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (n < 0) {
      const int fd = std::exchange(fd_, -1);
      waiting_.clear();
      return fail("write_failed", "cannot write to descriptor " + std::to_string(fd) + ": " + std::strerror(errno), "", errno);
    }
    waiting_.erase(0, static_cast<std::size_t>(n));
  }
  return {};
}

void Outlet::finish(std::chrono::milliseconds patience) {
  if (fd_ < 0) return;
  (void)::tcflow(fd_, TCOON);  // whoever stopped this terminal's output has ended
  tell_count();
  const auto end = std::chrono::steady_clock::now() + patience;
  while (flush() && !waiting_.empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd room{fd_, POLLOUT, 0};
    if (left.count() <= 0 || ::poll(&room, 1, static_cast<int>(left.count())) == 0) return;
  }
}

}  // namespace sbpf::cli
