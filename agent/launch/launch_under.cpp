// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/launch_under.h"

#include <algorithm>
#include <cstring>

#include "agent/launch/seccomp_ready.h"

namespace sbpf::agent {
namespace {

bool is_same_filter(const std::vector<sock_filter>& a, const std::vector<sock_filter>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(sock_filter)) == 0;
}

}  // namespace

Result<void> tighten(Launch& launch, const policy::Policy& own) {
  const Privileges more = privileges_of(own);
  Privileges& all = launch.privileges;
  constexpr std::uint64_t kEvery = ~std::uint64_t(0);
  all.keep = (all.keep_all ? kEvery : all.keep) & (more.keep_all ? kEvery : more.keep);
  all.keep_all = all.keep_all && more.keep_all;
  all.no_new_privs = all.no_new_privs || more.no_new_privs;
  for (const auto& limit : more.limits) {
    const auto known = std::ranges::find_if(all.limits, [&](const auto& one) { return one.first == limit.first; });
    if (known == all.limits.end())
      all.limits.push_back(limit);
    else
      known->second = std::min(known->second, limit.second);
  }
  auto filters = seccomp_filters(own.launch.seccomp, own.launch.capabilities);
  if (!filters) return tl::unexpected<Error>(filters.error());
  for (auto& filter : *filters)
    if (std::ranges::none_of(launch.filters, [&](const auto& one) { return is_same_filter(one, filter); }))
      launch.filters.push_back(std::move(filter));
  return {};
}

}  // namespace sbpf::agent
