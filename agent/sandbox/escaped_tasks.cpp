// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/escaped_tasks.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "agent/host/bpf_info.h"

namespace sbpf::agent {
namespace {

constexpr int kRounds = 20;

}  // namespace

Result<std::vector<pid_t>> find_escaped_tasks(const Kernel& kernel, std::uint64_t cgroup_id) {
  auto records = read_records<sbpf_escaped_task>(kernel.query(Query::escaped_tasks), nullptr, "escaped_tasks",
                                                 "processes that were moved out");
  if (!records) return tl::unexpected<Error>(records.error());
  std::vector<pid_t> found;
  for (const sbpf_escaped_task& task : *records) {
    if (task.cgroup_id == cgroup_id && task.tgid == 0)
      return fail("escaped_tasks", "this kernel cannot mark the sandbox's processes",
                  "kernels since 6.18 need a processor with cmpxchg16b (cx16 in /proc/cpuinfo), or slab_debug=F",
                  ENOMEM);
    const auto pid = static_cast<pid_t>(task.tgid);
    if (task.cgroup_id == cgroup_id && std::ranges::find(found, pid) == found.end()) found.push_back(pid);
  }
  return found;
}

void kill_escaped_tasks(const Kernel& kernel, std::uint64_t cgroup_id) {
  for (int round = 0; round < kRounds; round++) {
    auto escaped = find_escaped_tasks(kernel, cgroup_id);
    if (!escaped || escaped->empty()) return;
    std::vector<Fd> held;
    for (const pid_t pid : *escaped) held.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // Who has escaped still is who was meant: its number cannot have gone to another while its pidfd is held.
    auto again = find_escaped_tasks(kernel, cgroup_id);
    for (std::size_t i = 0; again && i < escaped->size(); i++)
      if (held[i] && std::ranges::find(*again, (*escaped)[i]) != again->end())
        (void)::syscall(SYS_pidfd_send_signal, held[i].get(), SIGKILL, nullptr, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace sbpf::agent
