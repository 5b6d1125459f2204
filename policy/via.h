// SPDX-License-Identifier: Apache-2.0
// Errors of the proxies of network.connect. Internal to policy/.
#pragma once

#include <string>
#include <vector>

#include "policy/image.h"

namespace sbpf::policy::internal {

// The reason why no connection can be led there; empty if one can.
std::string via_problem(const Via& via);

// Reports entries for the same destination and port that lead to different places.
void check_via(const std::vector<Endpoint>& connect, std::vector<Diagnostic>& diagnostics);

}  // namespace sbpf::policy::internal
