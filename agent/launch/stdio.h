// SPDX-License-Identifier: Apache-2.0
// The program's stdin, stdout and stderr.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"
#include "policy/image.h"

namespace sbpf::agent {

// `fds`: those three, as this process has them; -1 is none. Gives the inodes of those that are connected AF_UNIX
// streams, which the sandbox may use; 0 elsewhere. Errors: "inherited_socket" (a network socket whose peer the policy
// does not allow).
Result<std::array<std::uint64_t, 3>> inspect_stdio(const policy::Image& image, const std::array<int, 3>& fds);

}  // namespace sbpf::agent
