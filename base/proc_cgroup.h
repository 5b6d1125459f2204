// SPDX-License-Identifier: Apache-2.0
// The cgroup of a process, as /proc/PID/cgroup says (cgroups(7)).
#pragma once

#include <algorithm>
#include <string_view>

namespace sbpf {

// Its path in the unified hierarchy, below the root of the cgroup namespace: "/system.slice/x.service". Empty where the
// text has none. Allocates nothing.
inline std::string_view unified_cgroup(std::string_view text) {
  constexpr std::string_view kUnified = "0::";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(kUnified)) return line.substr(kUnified.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

}  // namespace sbpf
