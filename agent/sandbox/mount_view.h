// SPDX-License-Identifier: Apache-2.0
// The place from which the paths of a cgroup's policy are looked up.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "agent/files/fs_view.h"
#include "agent/files/namespaces.h"
#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Where a cgroup's processes are, or, with `mounts`, one that is in the mount namespace of this number. Paths are those
// of their mount namespace, whatever directory they call their root: that is theirs to change. If there are several
// namespaces, the first of the host's own counts; a namespace of a user namespace does not, because a process inside
// may have made it. The first process of an empty attached cgroup will come from the service manager's namespace. The
// links of a user's run may belong to that user. Errors: those of agent/files/namespaces.h; "no_namespace".
Result<MountView> mount_view_of(const Kernel& kernel, const Cgroup& cgroup, std::optional<std::uint64_t> mounts);

// A task of the cgroup that is in this mount namespace. Nothing: none is, or it cannot be told.
std::optional<pid_t> task_in(const Cgroup& cgroup, std::uint64_t mounts);

// Compiles the policy for a cgroup: its paths by the root of the mount namespace of a process in it, as this thread has
// them where that shares our mount namespace (agent/sandbox/mount_view.h says which). Errors: those of look_up(), of
// agent/files/namespaces.h and of policy::compile(); "planted_link"; "no_namespace": no process is in that of `again`.
Result<policy::Image> compile_for(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy,
                                  std::uint32_t generation, const CompileOptions& options = {});

}  // namespace sbpf::agent
