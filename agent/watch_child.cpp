// SPDX-License-Identifier: Apache-2.0
#include "agent/watch_child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "agent/supervise.h"
#include "base/child.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

constexpr std::string_view kEnd = "end\n";  // what is told is whole

}  // namespace

void WatchChild::end() {
  end_child(pid_);
  pipe_.reset();
  text_.clear();
}

Result<void> WatchChild::start(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("spawn", std::string("cannot make a pipe: ") + std::strerror(errno), "", errno);
  pipe_ = Fd(ends[0]);
  const Fd writer(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    pipe_.reset();
    return fail("spawn", std::string("cannot start a process: ") + std::strerror(errno), "", errno);
  }
  if (pid == 0) {
    restore_signals();
    // It is not in a hurry as the watch is, and may put a canary into a sandbox, which has no priority that no other process
    // can take; it keeps the nice value.
    const sched_param ordinary{0};
    (void)::sched_setscheduler(0, SCHED_OTHER, &ordinary);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::_exit(write_all(writer.get(), work() + std::string(kEnd)) ? 0 : 1);
  }
  pid_ = pid;
  (void)::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  return {};
}

std::optional<std::optional<std::string>> WatchChild::answer() {
  if (!running()) return std::nullopt;
  std::array<char, 4096> buffer{};
  ssize_t n = 0;
  while ((n = ::read(pipe_.get(), buffer.data(), buffer.size())) > 0) text_.append(buffer.data(), static_cast<std::size_t>(n));
  if (n != 0) return std::nullopt;
  std::optional<std::string> told;
  if (text_.ends_with(kEnd)) told = text_.substr(0, text_.size() - kEnd.size());
  end();
  return told;
}

}  // namespace sbpf::agent
