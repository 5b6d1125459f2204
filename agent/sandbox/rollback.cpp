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

// What the child is told. All zero: the parent is well.
struct Undo {
  std::uint64_t created_ns = 0;
  std::uint64_t policy_map = 0;
};

// Until the parent is well, or has ended: then what it had the child undo, if anything. Nothing: it is well.
std::optional<Undo> wait_for_parent(int pipe) {
  Undo undo, word;
  while (true) {
    const ssize_t n = ::read(pipe, &word, sizeof word);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof word) return undo;
    if (word.created_ns == 0) return std::nullopt;
    undo = word;
  }
}

bool is_the_same(const Kernel& kernel, std::uint64_t cgroup_id, const Undo& undo) {
  const auto record = find_record(kernel, cgroup_id);
  return record && record->created_ns == undo.created_ns && policy_map_id(kernel, cgroup_id) == undo.policy_map;
}

[[noreturn]] void wait_and_mend(Kernel& kernel, int pipe, const Fd& lock, std::uint64_t cgroup_id, const std::string& name) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  // Whoever reads what the command prints does not wait for this process.
  const Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int i = 0; i < 3; i++) (void)::dup2(nowhere.get(), i);
  // The lock is its parent's, which may have given it away for a while.
  if (const auto undo = wait_for_parent(pipe); undo && relock_host(lock)) {
    mend(kernel);
    if (is_the_same(kernel, cgroup_id, *undo)) take_down(kernel, cgroup_id, name);
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
  const Undo well;
  if (::write(pipe_.get(), &well, sizeof well) != sizeof well) ::kill(pid_, SIGKILL);  // ours, and not waited for
  ::waitpid(pid_, nullptr, 0);
}

void Guardian::undoes(std::uint64_t created_ns, std::uint32_t policy_map) const {
  const Undo undo{created_ns, policy_map};
  if (pid_ > 0) (void)!::write(pipe_.get(), &undo, sizeof undo);
}

}  // namespace sbpf::agent
