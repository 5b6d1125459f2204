// SPDX-License-Identifier: Apache-2.0
// Directories and filesystems that are mounted more than once, as a whole or in part. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/mounts.h"

namespace sbpf::agent {

// The mount that a path without links lies on; nullptr: none. By which mount lies on which: the order in `mounts` is
// that in which they were made, and an older one can be moved over a newer one.
const Mount* mount_of(const std::vector<Mount>& mounts, const std::string& path);

// What is left of a path below `top`: "" of `top` itself, else with a slash before it. Nothing: it is not below.
std::optional<std::string> path_below(const std::string& path, const std::string& top);

struct OtherPlace {
  std::string path;   // where the same file or directory is seen, too, unless another mount hides it,
  std::string point;  // by the mount at this point
};

// The other places of what lies at `path` on the mount `on`, which is one of `mounts`.
std::vector<OtherPlace> other_places(const std::vector<Mount>& mounts, const Mount& on, const std::string& path);

// The mounts of a sandbox that the host does not have at the same points.
std::vector<Mount> mounts_of_its_own(std::vector<Mount> of_sandbox, const std::vector<Mount>& of_host);

// Is its root part of a larger piece of the same filesystem, which is mounted, too?
bool is_part_of_another(const std::vector<Mount>& mounts, const Mount& mount);

}  // namespace sbpf::agent
