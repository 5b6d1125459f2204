// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/inner_maps.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/kernel_version.h"

namespace sbpf::agent {
namespace {

// Before 6.8 each look-up in a map of maps waits for a grace period of RCU: 12 ms on a quiet host, seconds on a busy
// one, and real-time priority does not help (kernel/bpf/syscall.c, bpf_map_copy_value()). Reading all in one go waits
// for nothing.
bool lookups_wait() {
  static const bool wait = !kernel_at_least({6, 8});
  return wait;
}

}  // namespace

std::optional<InnerMaps> inner_maps(int outer) {
  constexpr std::size_t kAtOnce = 256;
  std::array<std::uint64_t, kAtOnce> keys;
  std::array<std::uint32_t, kAtOnce> maps;
  InnerMaps all;
  std::uint64_t next = 0;  // where the kernel goes on
  for (bool first = true, more = true; more; first = false) {
    std::uint32_t count = kAtOnce;
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    more = bpf_map_lookup_batch(outer, first ? nullptr : &next, &next, keys.data(), maps.data(), &count, &options) == 0;
    if (!more && errno != ENOENT) return std::nullopt;  // ENOENT: these were the last
    for (std::uint32_t i = 0; i < count; i++) all.emplace_back(keys[i], maps[i]);
  }
  std::ranges::sort(all);
  return all;
}

std::uint32_t inner_map_id(const InnerMaps& all, std::uint64_t key) {
  const auto found = std::ranges::lower_bound(all, key, {}, &InnerMaps::value_type::first);
  return found != all.end() && found->first == key ? found->second : 0;
}

std::uint32_t inner_map_id(int outer, std::uint64_t key) {
  if (lookups_wait())
    if (const auto all = inner_maps(outer)) {
      errno = ENOENT;
      return inner_map_id(*all, key);
    }
  std::uint32_t id = 0;
  return bpf_map_lookup_elem(outer, &key, &id) == 0 ? id : 0;
}

Fd open_inner_map(int outer, std::uint64_t key) {
  const std::uint32_t id = inner_map_id(outer, key);
  return id == 0 ? Fd() : Fd(bpf_map_get_fd_by_id(id));
}

}  // namespace sbpf::agent
