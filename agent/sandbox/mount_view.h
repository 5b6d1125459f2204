// SPDX-License-Identifier: Apache-2.0
// From where the paths of a cgroup's policy are looked up.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "agent/files/fs_view.h"
#include "agent/files/places.h"
#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Where a cgroup's processes are, or, with `mounts`, one that is in the mount namespace of this number. Paths are those of their mount
// namespace, whatever directory they call their root: that is theirs to change. Of several namespaces it is the first that is the
// host's own, not of a user namespace, which anyone inside may have made. Into an attached cgroup that is empty a process will come from
// the service manager's. The links of a user's run may be that user's. Errors: those of agent/files/places.h; "no_namespace".
Result<MountView> mount_view_of(const Kernel& kernel, const Cgroup& cgroup, std::optional<std::uint64_t> mounts);

// A task of the cgroup that is in this mount namespace. Nothing: none is, or it cannot be told.
std::optional<pid_t> task_in(const Cgroup& cgroup, std::uint64_t mounts);

// Compiles the policy for a cgroup: its paths by the root of the mount namespace of a process in it, as this thread has them where that
// shares our mount namespace (agent/sandbox/mount_view.h says which). Errors: those of look_up(), of agent/files/places.h and of policy::compile();
// "planted_link"; "no_namespace": no process is in that of `again`.
Result<policy::Image> compile_for(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy, std::uint32_t generation,
                                  const CompileOptions& options = {});

}  // namespace sbpf::agent
