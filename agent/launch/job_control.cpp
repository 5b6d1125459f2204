// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/job_control.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/launch/supervisor.h"
#include "base/child.h"

namespace sbpf::agent {
namespace {

constexpr auto kJobControl = {SIGTSTP, SIGTTIN, SIGTTOU};

// Is anybody in this group? What was killed is in it until it is waited for: a moment.
bool lives(pid_t group) {
  for (int tries = 20; tries > 0; tries--) {
    if (::kill(-group, 0) != 0 && errno == ESRCH) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

// Hands signals on until it has ended.
int hand_on(pid_t pid, const ForwardedSignals& signals) {
  int status = 0;
  while (true) {
    pollfd waiting{signals.fd(), POLLIN, 0};
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) ::waitpid(pid, &status, 0);
    // Before it is asked whether it has ended: reading takes SIGCHLD away.
    signals.forward(pid);
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return exit_code_of(status);
  }
}

}  // namespace

TerminalGuard::TerminalGuard(int terminal) : terminal_(terminal) {
  is_terminal_ = ::tcgetattr(terminal_, &modes_) == 0;
  if (is_terminal_) foreground_ = ::tcgetpgrp(terminal_);
}

bool TerminalGuard::may_restore() const {
  if (foreground_ < 0) return true;
  const pid_t now = ::tcgetpgrp(terminal_);
  return foreground_ == ::getpgrp() && (now == foreground_ || !lives(now));
}

TerminalGuard::~TerminalGuard() {
  if (!is_terminal_ || !may_restore()) return;
  // Changing the terminal from the background would stop us.
  ::signal(SIGTTOU, SIG_IGN);
  if (foreground_ > 0) ::tcsetpgrp(terminal_, foreground_);
  ::tcflow(terminal_, TCOON);
  ::tcsetattr(terminal_, TCSANOW, &modes_);  // TCSADRAIN would wait for a reader
  ::signal(SIGTTOU, SIG_DFL);
}

Result<std::optional<int>> Front::split() {
  const Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!terminal) {
    guard_.emplace(STDIN_FILENO);
    return std::nullopt;
  }
  TerminalGuard guard(terminal.get());
  Fd front(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  std::optional<ForwardedSignals> signals(std::in_place);
  const pid_t pid = ::fork();
  if (pid > 0) return hand_on(pid, *signals);
  guard.forget();
  if (pid < 0) return cannot_start();
  signals.reset();
  front_ = std::move(front);
  group_ = ::getpgrp();
  // As long as it is in the group: these stop the others only. The program gets its own mask.
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int number : kJobControl) ::sigaddset(&mask, number);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  return std::nullopt;
}

void Front::leave() const {
  if (front_) ::setsid();
}

void Front::stop_with(pid_t program) const {
  // SIGTSTP, which a group without a shell ignores: nobody would have it go on.
  if (front_ && ::getpgid(program) == group_) ::syscall(SYS_pidfd_send_signal, front_.get(), SIGTSTP, nullptr, 0);
}

Front::~Front() {
  if (front_) ::syscall(SYS_pidfd_send_signal, front_.get(), SIGCONT, nullptr, 0);
}

}  // namespace sbpf::agent
