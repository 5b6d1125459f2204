// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/utsname.h>

#include <cstdio>
#include <utility>

namespace sbpf {

// Is the running kernel of this version (major, minor) or a later one? False where it does not say its version.
inline bool kernel_at_least(std::pair<unsigned, unsigned> wanted) {
  utsname name{};
  unsigned major = 0, minor = 0;
  if (::uname(&name) != 0 || std::sscanf(name.release, "%u.%u", &major, &minor) != 2) return false;
  return std::pair(major, minor) >= wanted;
}

}  // namespace sbpf
