// SPDX-License-Identifier: Apache-2.0
// The directories of `filesystem.private`: the sandbox has others there than the host.
#pragma once

#include <set>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// Mounts an empty directory over each of these that the host has, in the mount namespace of this thread, which is no
// longer the host's. It has the owner and the mode of the one that it hides. What is no directory, or is reached by a
// symbolic link, stays as it is. Errors: "private_places", naming the path.
Result<void> make_private_places(const std::set<std::string>& paths);

// Is what is open there another directory than the one that the host's first process has at `path`? False: it cannot be
// told.
bool is_private_place(const Fd& directory, const std::string& path);

}  // namespace sbpf::agent
