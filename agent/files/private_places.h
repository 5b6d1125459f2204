// SPDX-License-Identifier: Apache-2.0
// The directories of `filesystem.private`: the sandbox has others there than the host.
#pragma once

#include <set>
#include <string>

#include "base/fd.h"
#include "base/mounts.h"
#include "base/result.h"

namespace sbpf::agent {

// The hint where a mount of a sandbox's own cannot be made.
inline constexpr const char* kNeedsToMount = "sbpf run needs CAP_SYS_ADMIN, and must be allowed to mount";

// Mounts an empty directory over each of these that is there, in the mount namespace of this thread, which is no
// longer the host's. It has the owner and the mode of the one that it hides, and runs no programs where that runs none.
// What is no directory, or is reached by a symbolic link, stays as it is. Errors: "private_places", naming the path.
Result<void> make_private_places(const std::set<std::string>& paths);

// Is it the mount of such a place?
bool is_private_place(const Mount& mount);

// The directory that the host's first process has there, O_PATH; none: it has none, or it cannot be told. By other
// mounts it may be seen in the sandbox, too.
Fd open_hidden(const std::string& path);

}  // namespace sbpf::agent
