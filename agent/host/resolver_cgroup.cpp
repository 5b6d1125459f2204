// SPDX-License-Identifier: Apache-2.0
#include "agent/host/resolver_cgroup.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "agent/host/limits.h"

namespace sbpf::agent {
namespace {

constexpr const char* kResolverRoot = "sbpf-resolver";
constexpr const char* kWeight = "10";  // of all resolvers together; all sandboxes have 100

}  // namespace

std::string relay_of(const std::string& sandbox) { return sandbox + ".relay"; }

Result<Cgroup> make_resolver_cgroup(const std::string& name, std::uint64_t memory_bytes) {
  auto root = top_cgroup(kResolverRoot);
  if (!root) return root;
  (void)root->write("cpu.weight", kWeight);
  const std::string path = root->path() + "/" + name;
  (void)remove_cgroup(path);  // of a supervisor that was killed
  auto cgroup = Cgroup::create(path);
  if (!cgroup) return cgroup;
  policy::Limits processes, memory, cpu;
  processes.processes = 1;
  memory.memory_bytes = memory_bytes;
  cpu.cpu_millis = 250;
  for (const policy::Limits& limit : {processes, memory, cpu}) (void)apply_limits(*cgroup, limit);
  return cgroup;
}

Result<std::optional<Cgroup>> open_resolver_cgroup(const std::string& name) {
  const auto mount = cgroup2_mount();
  if (!mount) return tl::unexpected<Error>(mount.error());
  auto cgroup = Cgroup::open(*mount + "/" + kResolverRoot + "/" + name);
  if (cgroup) return std::optional(std::move(*cgroup));
  if (cgroup.error().sys_errno == ENOENT) return std::nullopt;
  return tl::unexpected<Error>(cgroup.error());
}

void collect_resolver_cgroups() {
  const auto mount = cgroup2_mount();
  if (!mount) return;
  const std::string root = *mount + "/" + kResolverRoot;
  std::vector<std::string> empty;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(root, ec)) {
    if (!entry.is_directory(ec)) continue;
    const auto cgroup = Cgroup::open(entry.path());
    if (cgroup && !cgroup->populated()) empty.push_back(cgroup->path());
  }
  for (const std::string& path : empty) (void)remove_cgroup(path);
  (void)::rmdir(root.c_str());  // where there are none
}

}  // namespace sbpf::agent
