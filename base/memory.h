// SPDX-License-Identifier: Apache-2.0
// For a process that stays, and now and then needs megabytes for a moment.
#pragma once

#include <malloc.h>
#include <sys/prctl.h>

namespace sbpf {

// What is freed goes back to the kernel, and not to a heap that keeps it. And no huge pages, of which a heap of a few
// megabytes would have one for every few bytes beyond the last; children inherit that. Called before there is a thread.
inline void keep_memory_small() {
  constexpr int kMostKept = 128 << 10;  // bytes
  (void)::mallopt(M_MMAP_THRESHOLD, kMostKept);
  (void)::mallopt(M_TRIM_THRESHOLD, kMostKept);
  (void)::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

}  // namespace sbpf
