// SPDX-License-Identifier: Apache-2.0
#include "agent/host/sentinel_cgroup.h"

#include "agent/host/cgroup.h"

namespace sbpf::agent {

Result<std::string> sentinel_path() {
  auto mount = cgroup2_mount();
  if (!mount) return mount;
  return *mount + std::string(kSentinelCgroup);
}

// Somebody may have stopped what is in the cgroup of sentinels, or let nothing in: it is nobody's but ours.
void release_sentinels() {
  auto path = sentinel_path();
  if (!path) return;
  auto cgroup = Cgroup::open(*path);
  if (!cgroup) return;
  (void)cgroup->write("cgroup.freeze", "0");
  for (const char* limit : {"pids.max", "memory.max", "memory.high", "cpu.max"}) (void)cgroup->write(limit, "max");
}

void end_sentinels() {
  auto path = sentinel_path();
  if (!path) return;
  if (auto cgroup = Cgroup::open(*path)) (void)cgroup->kill();
}

}  // namespace sbpf::agent
