// SPDX-License-Identifier: Apache-2.0
// For the functions that fakes define in the place of libc's.
#pragma once

#include <dlfcn.h>

namespace sbpf::agent {

// Where the hierarchy of cgroups of a fake host is mounted.
inline constexpr const char* kFakeCgroups = "/sys/fs/cgroup";

// The function of libc's.
template <typename Function>
Function* libc(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace sbpf::agent
