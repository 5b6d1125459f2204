// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/rollback.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "agent/sandbox/journal.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {

// What the child is told: the sandbox that it takes down if the parent is killed. All zero: the parent has finished.
struct Attached {
  std::uint64_t created_ns = 0;
  std::uint64_t policy_map = 0;
};

// Waits until the parent has finished, which returns nothing, or was killed, which returns what it said last.
std::optional<Attached> wait_for_parent(int pipe) {
  Attached attached, word;
  while (true) {
    const ssize_t n = ::read(pipe, &word, sizeof word);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof word) return attached;
    if (word.created_ns == 0) return std::nullopt;
    attached = word;
  }
}

bool is_still(const Kernel& kernel, std::uint64_t cgroup_id, const Attached& attached) {
  const auto record = find_record(kernel, cgroup_id);
  return record && record->created_ns == attached.created_ns && policy_map_id(kernel, cgroup_id) == attached.policy_map;
}

[[noreturn]] void wait_and_mend(Kernel& kernel, int pipe, const Fd& lock, std::uint64_t cgroup_id,
                                const std::string& name) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  // Whoever reads what the command prints does not wait for this process.
  const Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int i = 0; i < 3; i++) (void)::dup2(nowhere.get(), i);
  // The lock is its parent's, which may have given it away for a while.
  if (const auto attached = wait_for_parent(pipe); attached && relock_host(lock)) {
    mend(kernel);
    if (is_still(kernel, cgroup_id, *attached)) take_down(kernel, cgroup_id, name);
  }
  ::_exit(0);
}

}  // namespace

RollbackProcess::RollbackProcess(Kernel& kernel, const Fd& lock, std::uint64_t cgroup_id, const std::string& name) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const Fd reader(ends[0]);
  pipe_ = Fd(ends[1]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  pipe_.reset();
  wait_and_mend(kernel, reader.get(), lock, cgroup_id, name);
}

RollbackProcess::~RollbackProcess() {
  if (pid_ <= 0) return;
  const Attached finished;
  if (::write(pipe_.get(), &finished, sizeof finished) != sizeof finished)
    ::kill(pid_, SIGKILL);  // ours, and not waited for
  ::waitpid(pid_, nullptr, 0);
}

void RollbackProcess::take_down_if_killed(std::uint64_t created_ns, std::uint32_t policy_map) const {
  const Attached attached{created_ns, policy_map};
  if (pid_ > 0) (void)!::write(pipe_.get(), &attached, sizeof attached);
}

}  // namespace sbpf::agent
