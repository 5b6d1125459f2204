// SPDX-License-Identifier: Apache-2.0
#include "agent/strays.h"

#include <bpf/bpf.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace sbpf::agent {
namespace {

constexpr int kRounds = 20;

}  // namespace

Result<std::vector<pid_t>> find_strays(const Kernel& kernel, std::uint64_t cgroup_id) {
  const auto error = [](const char* what) {
    return fail("strays", std::string("cannot ask the kernel for processes that were moved out: ") + what + ": " +
                              std::strerror(errno),
                "end the sandboxes and run `sbpf unload`, then start again", errno);
  };
  LIBBPF_OPTS(bpf_link_create_opts, options);
  Fd link(bpf_link_create(kernel.strays(), 0, BPF_TRACE_ITER, &options));
  if (!link) return error("link");
  Fd iterator(bpf_iter_create(link.get()));
  if (!iterator) return error("iterator");
  std::vector<pid_t> found;
  std::vector<char> bytes;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t n = ::read(iterator.get(), buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return error("read");
    if (n == 0) break;
    bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + n);
  }
  for (std::size_t at = 0; at + sizeof(sbpf_stray) <= bytes.size(); at += sizeof(sbpf_stray)) {
    sbpf_stray stray{};
    std::memcpy(&stray, bytes.data() + at, sizeof stray);
    if (stray.cgroup_id == cgroup_id && stray.tgid == 0)
      return fail("strays", "this kernel cannot mark the sandbox's processes",
                  "kernels since 6.18 need a processor with cmpxchg16b (cx16 in /proc/cpuinfo), or slab_debug=F", ENOMEM);
    const auto pid = static_cast<pid_t>(stray.tgid);
    if (stray.cgroup_id == cgroup_id && std::ranges::find(found, pid) == found.end()) found.push_back(pid);
  }
  return found;
}

void kill_strays(const Kernel& kernel, std::uint64_t cgroup_id) {
  for (int round = 0; round < kRounds; round++) {
    auto strays = find_strays(kernel, cgroup_id);
    if (!strays || strays->empty()) return;
    std::vector<Fd> held;
    for (const pid_t pid : *strays) held.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // Who is a stray still is who was meant: its number cannot have gone to another while its pidfd is held.
    auto again = find_strays(kernel, cgroup_id);
    for (std::size_t i = 0; again && i < strays->size(); i++)
      if (held[i] && std::ranges::find(*again, (*strays)[i]) != again->end())
        (void)::syscall(SYS_pidfd_send_signal, held[i].get(), SIGKILL, nullptr, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace sbpf::agent
