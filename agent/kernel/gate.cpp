// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/gate.h"

#include "agent/host/cgroup.h"

namespace sbpf::agent {
namespace {

constexpr std::uint32_t kRootLevel = 1;  // of sbpf's root cgroup: right beneath the mount

}  // namespace

bool knows_root(const Kernel& kernel, std::uint64_t root) {
  const sbpf_gate& gate = kernel.globals().gate;
  return gate.root_id == root && gate.root_level == kRootLevel;
}

bool knows_root(const Kernel& kernel) {
  const auto root = root_cgroup_id();
  return !root || knows_root(kernel, *root);
}

bool lacks_root(const Kernel& kernel) {
  const auto root = root_cgroup_id();
  if (root && knows_root(kernel, *root)) return false;
  // Another one at its path may be in a place that covers the hierarchy.
  const auto known = Cgroup::open_by_id(kernel.globals().gate.root_id);
  return !known && is_gone(known.error());
}

Result<void> set_root(const Kernel& kernel) {
  const auto root = root_cgroup();
  if (!root) return tl::unexpected<Error>(root.error());
  kernel.globals().gate.root_level = root->level();
  __atomic_store_n(&kernel.globals().gate.root_id, root->id(), __ATOMIC_SEQ_CST);
  return {};
}

}  // namespace sbpf::agent
