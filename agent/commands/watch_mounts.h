// SPDX-License-Identifier: Apache-2.0
// Inside `sbpf watch`: extends policies to mounts that came after they were looked up, if no supervisor does so.
#pragma once

#include <string>

namespace sbpf::agent {

// In a separate process: looks up the paths of these sandboxes' policies again, and reports the result. `request`: the
// number of a cgroup in each line. The answer has a line for each sandbox that must be tried again ("again ID"), or
// that failed ("failed ID WHY").
std::string refresh_lines(const std::string& request);

}  // namespace sbpf::agent
