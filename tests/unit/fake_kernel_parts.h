// SPDX-License-Identifier: Apache-2.0
// What the parts of the fake kernel share.
#pragma once

#include <linux/bpf.h>

#include <cerrno>

#include "tests/unit/fake_kernel.h"

namespace sbpf::agent {

// The answer of a call that fails with this errno.
inline long fails(int error) {
  errno = error;
  return -1;
}

inline const void* pointer(__u64 address) { return reinterpret_cast<const void*>(address); }
inline void* writable(__u64 address) { return reinterpret_cast<void*>(address); }

inline Bytes bytes(const void* from, std::size_t size) {
  const char* begin = static_cast<const char*>(from);
  return {begin, begin + size};
}

}  // namespace sbpf::agent
