// SPDX-License-Identifier: Apache-2.0
// Does this process run in a sandbox of sbpf's? There every operation of sbpf is refused, and each error would name
// another reason.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/seen.h"

namespace sbpf::agent {

struct Inside {
  Seen seen = Seen::unknown;     // there: inside; absent: bpf(2) is open to this process, which no sandbox allows
  std::string sandbox = {};      // by the cgroup's name
  bool refused_to_root = false;  // unknown: bpf(2) is refused in spite of the capability, as under `attach`
};

// The facts that a process can learn of itself: the text of /proc/self/cgroup, the errno of bpf(2) for a command that
// does not exist, whether it has CAP_SYS_ADMIN over the host, and whether a seccomp filter stands in between. Pure.
Inside inside_of(std::string_view cgroups, int bpf_errno, bool privileged, bool filtered);
Inside inside();

// The error of a command that needs the kernel side, with the reason found here. Pure.
Error explained_by(const Inside& inside, Error error);

}  // namespace sbpf::agent
