// SPDX-License-Identifier: Apache-2.0
#include "agent/host/in_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/child.h"
#include "base/fd.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

constexpr std::size_t kRoom = 4096;

// All that comes until its end; nothing after `patience`.
std::optional<std::string> read_all(const Fd& from, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::array<char, 65536> buffer;
  for (std::string all;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd waiting{from.get(), POLLIN, 0};
    const int ready = left.count() > 0 ? ::poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0) return std::nullopt;
    const ssize_t n = ready < 0 ? -1 : ::read(from.get(), buffer.data(), buffer.size());
    if (n < 0 && errno != EINTR) return all;
    if (n == 0) return all;
    if (n > 0) all.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

void Doing::note(const std::string& what) {
  const std::size_t size = std::min(what.size(), kRoom - 1);
  std::memcpy(room_, what.data(), size);
  room_[size] = '\0';
}

Result<std::string> in_child(std::chrono::milliseconds patience, const std::vector<int>& keep,
                             const std::function<std::string(Doing)>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot_start();
  const Fd from(ends[0]);
  Fd to(ends[1]);
  void* const shared = ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return cannot_start();
  const auto unmap = [](char* room) { ::munmap(room, kRoom); };
  const std::unique_ptr<char, decltype(unmap)> doing(static_cast<char*>(shared), unmap);
  const pid_t parent = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return cannot_start();
  if (pid == 0) {
    // It is in the caller's process group, and a key on the terminal is not meant for it; the caller kills it.
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<int> kept = keep;
    kept.push_back(to.get());
    if (::getppid() != parent || close_all_but(std::move(kept)) != 0) ::_exit(1);
    // An exception that came further would undo, here too, what the caller has begun.
    [&]() noexcept { (void)write_all(to.get(), work(Doing(doing.get()))); }();
    ::_exit(0);
  }
  to.reset();
  auto answer = read_all(from, patience);
  end_child(pid);
  const std::string at(doing.get(), ::strnlen(doing.get(), kRoom));
  if (!answer)
    return fail(
        "no_answer", fmt::format("{} gives no answer for {} s", at, patience.count() / 1000),
        "the file system there hangs: see whether its server, or its disk, is there; a server in the cgroup that `sbpf attach` "
        "takes in is frozen meanwhile",
        ETIMEDOUT);
  if (answer->empty()) return fail("spawn", fmt::format("the process that looked at {} ended without an answer", at));
  return std::move(*answer);
}

}  // namespace sbpf::agent
