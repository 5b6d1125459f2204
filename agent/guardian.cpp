// SPDX-License-Identifier: Apache-2.0
#include "agent/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "agent/change.h"
#include "agent/sandbox.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kWell = 0;

// Until the parent is well, or has ended: then what it had the child undo, if anything. Nothing: it is well.
std::optional<std::uint64_t> wait_for_parent(int pipe) {
  std::uint64_t created_ns = kWell, word = 0;
  while (true) {
    const ssize_t n = ::read(pipe, &word, sizeof word);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof word) return created_ns;
    if (word == kWell) return std::nullopt;
    created_ns = word;
  }
}

[[noreturn]] void wait_and_mend(Kernel& kernel, int pipe, const Fd& lock, std::uint64_t cgroup_id, const std::string& name) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  // Whoever reads what the command prints does not wait for this process.
  const Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int i = 0; i < 3; i++) (void)::dup2(nowhere.get(), i);
  // The lock is its parent's, which may have given it away for a while.
  if (const auto created_ns = wait_for_parent(pipe); created_ns && relock_host(lock)) {
    mend(kernel);
    if (const auto record = find_record(kernel, cgroup_id); record && record->created_ns == *created_ns) take_down(kernel, cgroup_id, name);
  }
  ::_exit(0);
}

}  // namespace

Guardian::Guardian(Kernel& kernel, const Fd& lock, std::uint64_t cgroup_id, const std::string& name) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const Fd reader(ends[0]);
  pipe_ = Fd(ends[1]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  pipe_.reset();
  wait_and_mend(kernel, reader.get(), lock, cgroup_id, name);
}

Guardian::~Guardian() {
  if (pid_ <= 0) return;
  if (::write(pipe_.get(), &kWell, sizeof kWell) != sizeof kWell) ::kill(pid_, SIGKILL);  // ours, and not waited for
  ::waitpid(pid_, nullptr, 0);
}

void Guardian::undoes(std::uint64_t created_ns) const {
  if (pid_ > 0) (void)!::write(pipe_.get(), &created_ns, sizeof created_ns);
}

}  // namespace sbpf::agent
