// SPDX-License-Identifier: Apache-2.0
#include "agent/host/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sbpf::agent {
namespace {

struct Raised {
  decltype(RLIMIT_NOFILE) which;
  rlim_t enough;
  rlimit of_caller;  // rlim_max 0: it was not raised
};
std::array raised = {Raised{RLIMIT_NOFILE, 4096, {}}, Raised{RLIMIT_CPU, RLIM_INFINITY, {}},
                     Raised{RLIMIT_FSIZE, RLIM_INFINITY, {}}};

}  // namespace

void raise_limits() {
  for (Raised& one : raised) {
    rlimit now{};
    if (::getrlimit(one.which, &now) != 0 || now.rlim_cur >= one.enough) continue;
    const rlimit enough{one.enough, std::max(now.rlim_max, one.enough)};
    const rlimit most{std::min(now.rlim_max, one.enough), now.rlim_max};  // more is for CAP_SYS_RESOURCE
    if (::setrlimit(one.which, &enough) == 0 || ::setrlimit(one.which, &most) == 0) one.of_caller = now;
  }
}

int restore_limits() {
  for (const Raised& one : raised)
    if (one.of_caller.rlim_max != 0 && ::setrlimit(one.which, &one.of_caller) != 0) return errno;
  return 0;
}

}  // namespace sbpf::agent
