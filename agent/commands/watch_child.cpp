// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/watch_child.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "agent/launch/supervisor.h"
#include "base/child.h"

namespace sbpf::agent {
namespace {

constexpr std::size_t kMostText = 64 << 10;

// One packet, which is whole; -1 with errno EAGAIN: there is none yet; 0: the other end is gone.
ssize_t receive(int channel, std::string& text, int flags) {
  std::vector<char> buffer(kMostText);
  ssize_t n = 0;
  do n = ::recv(channel, buffer.data(), buffer.size(), flags);
  while (n < 0 && errno == EINTR);
  if (n > 0) text.assign(buffer.data(), static_cast<std::size_t>(n));
  return n;
}

void answer_requests(int channel, const WatchChild::Work& work) {
  for (std::string request; receive(channel, request, 0) > 0;) {
    const std::string text = work(request).substr(0, kMostText);
    if (::send(channel, text.data(), text.size(), MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace

void WatchChild::end() {
  end_child(pid_);
  channel_.reset();
  asked_ = false;
}

Result<void> WatchChild::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return cannot_start();
  channel_ = Fd(ends[0]);
  const Fd other(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    auto failed = cannot_start();
    channel_.reset();
    return failed;
  }
  if (pid == 0) {
    restore_signals();
    // It is not in a hurry as the watch is, and may put a canary into a sandbox, which has no priority that no other
    // process can take; it keeps the nice value.
    const sched_param ordinary{0};
    (void)::sched_setscheduler(0, SCHED_OTHER, &ordinary);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent || close_all_but({other.get()}) != 0) ::_exit(1);
    answer_requests(other.get(), work_);
    ::_exit(0);
  }
  pid_ = pid;
  return {};
}

bool WatchChild::send(const std::string& request) const {
  return ::send(channel_.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

Result<void> WatchChild::ask(const std::string& request) {
  if (pid_ > 0 && !send(request)) end();  // somebody killed it
  if (pid_ <= 0) {
    if (auto started = start(); !started) return started;
    if (!send(request)) {
      auto failed = cannot_start();
      end();
      return failed;
    }
  }
  asked_ = true;
  return {};
}

std::optional<std::optional<std::string>> WatchChild::answer() {
  if (!running()) return std::nullopt;
  std::string text;
  const ssize_t n = receive(channel_.get(), text, MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return std::nullopt;
  asked_ = false;
  if (n > 0) return std::optional(std::move(text));
  end();
  return std::optional<std::string>();
}

}  // namespace sbpf::agent
