// SPDX-License-Identifier: Apache-2.0
// Files that a process had open or mapped before a policy came over it.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "agent/cgroup.h"
#include "policy/image.h"

namespace sbpf::agent {

// What the policy would not have let the process open: "pid 12: /srv/secret open for reading", "… mapped for writing",
// "… mapped to be executed", its own program among them.
// Descriptors that only name a place (O_PATH) are free. The process is frozen, or the answer is out of date. With `before`: of that,
// what this image allows.
std::vector<std::string> forbidden_files(pid_t pid, const policy::Image& image, const policy::Image* before = nullptr);

// Files that a sandbox goes on using after its policy was changed.
struct HeldFiles {
  std::vector<std::string> files;  // as forbidden_files() has them
  std::set<pid_t> holders;         // processes
};

// What the processes of a cgroup have open or mapped that `before` allowed and `after` forbids. The cgroup is frozen.
// Errors: those of Cgroup::processes().
Result<HeldFiles> files_taken_away(const Cgroup& cgroup, const policy::Image& before, const policy::Image& after);

}  // namespace sbpf::agent
