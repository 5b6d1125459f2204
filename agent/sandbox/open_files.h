// SPDX-License-Identifier: Apache-2.0
// Files that processes had open or mapped before they came under a policy.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "policy/image.h"

namespace sbpf::agent {

struct OpenFiles {
  // "pid 12: /srv/secret open for reading", "… mapped for writing", "… mapped to be executed".
  std::vector<std::string> files;
  std::set<pid_t> holders;  // processes
};

// The files that the processes of a cgroup have open or mapped, their own programs included, and that `after` forbids;
// with `before`: only those that this image allowed. The kernel side judges, by the walk of its hooks: mounts, later
// names of a file, and the process's own view do not matter. Descriptors that only name a place (O_PATH) are allowed.
// Files that are registered with an io_uring cannot be examined: if the policy changes, the fact that there are such
// files is one of the results. The caller holds the host lock, and the cgroup is frozen, or the answer is out of date.
// Errors: those of Cgroup::processes() and make_policy_map(); "open_files" with errno. For files that are identified by
// their numbers, the remaining name decides under `after`: compile it with renamed_files().
Result<OpenFiles> forbidden_files(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& after,
                                  const policy::Image* before = nullptr);

// The numbers of the files that these processes have open or mapped by a name that is gone while they have another;
// none, if the policy has no paths. As above.
Result<std::set<std::uint64_t>> renamed_files(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy);

}  // namespace sbpf::agent
