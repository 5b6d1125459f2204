// SPDX-License-Identifier: Apache-2.0
// Inside `sbpf watch`: policies reach what was mounted after they were looked up, where no supervisor sees to it.
#pragma once

#include <string>

namespace sbpf::agent {

// In a process of its own: looks up the paths of these sandboxes' policies again, and tells what came of it. `request`: a number of a
// cgroup in each line. The answer has a line for each that is to be tried again ("again ID"), or that could not be ("failed ID WHY").
std::string refresh_lines(const std::string& request);

}  // namespace sbpf::agent
