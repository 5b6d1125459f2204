// SPDX-License-Identifier: Apache-2.0
// Can this host enforce everything that strict needs?
#pragma once

#include <string>
#include <vector>

#include "agent/verify/host_checks.h"

namespace sbpf::agent {

struct Preflight {
  std::string kernel;  // uname -r
  std::vector<Check> checks;
  bool ok() const;
};

// Tries, without side effects, everything that strict needs: loads and attaches all programs in a cgroup of its own and
// has a canary denied by each hook; nothing is pinned and nothing is left behind.
Preflight preflight();

}  // namespace sbpf::agent
