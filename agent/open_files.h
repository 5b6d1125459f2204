// SPDX-License-Identifier: Apache-2.0
// Files that a process had open or mapped before a policy came over it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "policy/image.h"

namespace sbpf::agent {

// What the policy would not have let the process open: "pid 12: /srv/secret open for reading", "… mapped for writing",
// "… mapped to be executed", its own program among them.
// Descriptors that only name a place (O_PATH) are free. The process is frozen, or the answer is out of date.
std::vector<std::string> forbidden_files(pid_t pid, const policy::Image& image);

}  // namespace sbpf::agent
