// SPDX-License-Identifier: Apache-2.0
// Files that processes had open or mapped before a policy came over them.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "policy/image.h"

namespace sbpf::agent {

struct HeldFiles {
  std::vector<std::string> files;  // "pid 12: /srv/secret open for reading", "… mapped for writing", "… mapped to be executed"
  std::set<pid_t> holders;         // processes
};

// What the processes of a cgroup have open or mapped that `after` would not have let them, their own programs among it; with `before`:
// of that, what this image allowed. The kernel side judges, by the walk of its hooks: neither mounts, nor what a file was called since,
// nor what a process sees matters. Descriptors that only name a place (O_PATH) are free. What is registered with an io_uring cannot be
// looked at: that there is such is one of them, if the policy changes. The caller holds the host lock, and the cgroup is frozen, or the answer is out
// of date. Errors: those of Cgroup::processes() and make_policy_map(); "open_files" with errno.
// Of files that are told by their numbers it counts what `after` says of the name that is left: compile it with renamed_files().
Result<HeldFiles> forbidden_files(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& after, const policy::Image* before = nullptr);

// The numbers of the files that these processes have open or mapped by a name that is gone while they have another; none, if the policy
// has no paths. As above.
Result<std::set<std::uint64_t>> renamed_files(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy);

}  // namespace sbpf::agent
