// SPDX-License-Identifier: Apache-2.0
#include "agent/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace sbpf::agent {
namespace {

constexpr rlim_t kEnough = 4096;
rlimit of_caller{};  // rlim_max 0: it was not raised

}  // namespace

void raise_descriptors() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= kEnough) return;
  const rlimit enough{kEnough, std::max(now.rlim_max, kEnough)};
  const rlimit most{std::min(now.rlim_max, kEnough), now.rlim_max};  // more is for CAP_SYS_RESOURCE
  if (::setrlimit(RLIMIT_NOFILE, &enough) == 0 || ::setrlimit(RLIMIT_NOFILE, &most) == 0) of_caller = now;
}

int restore_descriptors() { return of_caller.rlim_max == 0 || ::setrlimit(RLIMIT_NOFILE, &of_caller) == 0 ? 0 : errno; }

}  // namespace sbpf::agent
