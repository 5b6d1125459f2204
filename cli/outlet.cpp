// SPDX-License-Identifier: Apache-2.0
#include "cli/outlet.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/child.h"

namespace sbpf::cli {
namespace {

constexpr int kPauseMs = 100;          // after an error
constexpr std::size_t kAtOnce = 4096;  // a pipe with any room takes so much

// As write(2), of what has room. Whoever else writes may take that in between; then a timer ends the waiting.
ssize_t write_at_once(int fd, const char* data, std::size_t size) {
  pollfd room{fd, POLLOUT, 0};
  if (::poll(&room, 1, 0) != 1) {
    errno = EAGAIN;
    return -1;
  }
  struct sigaction interrupt {
  }, before{};
  interrupt.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &interrupt, &before);
  sigset_t alarm, mask;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm, &mask);
  // Again and again, as the first may come before write() has begun.
  const itimerval soon{{0, 20'000}, {0, 20'000}}, never{};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  const ssize_t n = ::write(fd, data, size);
  const int error = errno;
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  errno = error;
  return n;
}

// Of a write that has no room now, or was interrupted.
bool is_short(int error) { return error == EAGAIN || error == EINTR; }

// After which nothing more can come.
bool is_last(int error) { return error == EPIPE || error == EBADF; }

// A program that has the file, too, may have set it so.
void end_direct_writes(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_DIRECT) != 0) (void)::fcntl(fd, F_SETFL, flags & ~O_DIRECT);
}

// Writes to `to` what comes by `from`, until its end or its parent's, and says back how much each time: a number of
// bytes, or an errno below 0, after which it tries again.
[[noreturn]] void write_until_end(int from, int to, pid_t parent) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);  // its owner ends it
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  // Nothing else of the caller's stays open by it: whoever reads that, or unmounts it, would wait.
  if (::chdir("/") != 0) ::_exit(1);
  from = ::fcntl(from, F_DUPFD, 3);
  to = ::fcntl(to, F_DUPFD, 3);
  for (int fd = 0; fd < 3; fd++) ::close(fd);
  if (from < 0 || to < 0 || close_all_but({from, to}) != 0) ::_exit(1);
  char buffer[kAtOnce];
  for (ssize_t size; (size = ::read(from, buffer, sizeof buffer)) > 0;)
    for (ssize_t done = 0; done < size;) {
      const ssize_t n = ::write(to, buffer + done, static_cast<std::size_t>(size - done));
      const std::int32_t said = n < 0 ? -errno : static_cast<std::int32_t>(n);
      pollfd room{to, POLLOUT, 0};
      if (n < 0 && is_short(-said)) {
        (void)::poll(&room, 1, -1);
        continue;
      }
      if (::send(from, &said, sizeof said, MSG_NOSIGNAL) != sizeof said || (n < 0 && is_last(-said))) ::_exit(1);
      if (n < 0) {
        end_direct_writes(to);
        (void)::poll(nullptr, 0, kPauseMs);
      }
      done += std::max<ssize_t>(n, 0);
    }
  ::_exit(0);
}

int wait_ms(std::chrono::steady_clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Not terminals and sockets: whoever has one, too, cannot make a write wait that a signal does not end.
bool has_lock(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && !S_ISCHR(info.st_mode) && !S_ISSOCK(info.st_mode);
}

}  // namespace

Outlet::Outlet(int fd, std::function<std::string(std::uint64_t)> count_line, std::size_t room)
    : fd_(fd), count_line_(std::move(count_line)), room_(room), by_writer_(has_lock(fd)) {
  // Before the caller has maps of sbpf's in its memory, which the writer would hold.
  if (by_writer_) (void)start_writer();
}

Outlet::~Outlet() { end_child(writer_pid_); }

bool Outlet::start_writer() {
  int ends[2];
  // Not a pipe: it ends for the reader even where another child still has it.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  Fd ours(ends[0]), theirs(ends[1]);
  const int few = 4 * kAtOnce;
  (void)::setsockopt(ours.get(), SOL_SOCKET, SO_SNDBUF, &few, sizeof few);
  const pid_t parent = ::getpid();
  writer_pid_ = ::fork();
  if (writer_pid_ == 0) write_until_end(theirs.get(), fd_, parent);
  if (writer_pid_ < 0) return false;
  writer_ = std::move(ours);
  return true;
}

// As write(2). What the writer has is written, for all but settle() and finish().
ssize_t Outlet::write_some() {
  const std::size_t size = std::min(waiting_.size(), kAtOnce);
  if (!by_writer_) return write_at_once(fd_, waiting_.data(), size);
  if (!writer_ && !start_writer()) {
    errno = EAGAIN;  // there may be room for a process later
    return -1;
  }
  const ssize_t n = ::send(writer_.get(), waiting_.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n > 0) with_writer_ += static_cast<std::size_t>(n);
  return n;
}

// 0, or the errno that it ended with.
int Outlet::hear_writer() {
  std::int32_t said = 0;
  ssize_t n = 0;
  while (writer_ && (n = ::recv(writer_.get(), &said, sizeof said, MSG_DONTWAIT)) == sizeof said) {
    if (said < 0) return -said;
    with_writer_ -= static_cast<std::size_t>(said);
  }
  return !writer_ || (n < 0 && is_short(errno)) ? 0 : EPIPE;
}

Result<void> Outlet::failed(int error) {
  const int fd = fd_;
  if (is_last(error)) {
    fd_ = -1;
    waiting_.clear();
  }
  if (std::exchange(told_error_, true)) return {};
  return fail("write_failed", SystemError{error}, "cannot write to descriptor {}", fd);
}

bool Outlet::has_room(std::size_t size, Weight weight) const {
  return waiting_.size() + with_writer_ + size <= (weight == Weight::important ? room_ : room_ / 2);
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
  if (fd_ < 0) return {};
  if (const int error = hear_writer(); error != 0) return failed(error);
  // Not for ever, where somebody reads as fast as is written.
  for (std::size_t left = room_ / kAtOnce; !waiting_.empty() && left > 0; left--) {
    const ssize_t n = write_some();
    if (n < 0 && is_short(errno)) break;
    if (n < 0) return failed(errno);
    waiting_.erase(0, static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> Outlet::settle(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  Result<void> written;
  while (by_writer_ && fd_ >= 0) {
    if (auto now = flush(); !now) written = std::move(now);
    if (with_writer_ + waiting_.size() == 0) break;
    pollfd answer{writer_.get(), POLLIN, 0};
    const int left = wait_ms(end);
    if (left == 0 || ::poll(&answer, 1, writer_ ? left : std::min(left, kPauseMs)) < 0) break;
  }
  return written;
}

Result<void> Outlet::finish(std::chrono::milliseconds patience) {
  if (fd_ < 0) return {};
  const auto end = std::chrono::steady_clock::now() + patience;
  (void)::tcflow(fd_, TCOON);  // whoever stopped this terminal's output has ended
  tell_count();
  Result<void> written = settle(patience);
  end_child(writer_pid_);
  writer_.reset();
  while (!by_writer_ && fd_ >= 0) {
    if (auto now = flush(); !now) written = std::move(now);
    pollfd room{fd_, POLLOUT, 0};
    const int left = wait_ms(end);
    if (waiting_.empty() || left == 0 || ::poll(&room, 1, left) == 0) break;
    if (told_error_) (void)::poll(nullptr, 0, std::min(left, kPauseMs));
  }
  return written;
}

}  // namespace sbpf::cli
