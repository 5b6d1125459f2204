// SPDX-License-Identifier: Apache-2.0
// The tree of filesystem rules, and where its paths lie on a host. Pure: the agent looks the paths up.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/policy.h"

namespace sbpf::policy {

// An inode as the kernel side sees it (not as stat(2) reports it: overlayfs and btrfs differ).
struct FsInode {
  std::uint64_t ino = 0;
  std::uint32_t dev = 0;
  std::uint32_t generation = 0;
  auto operator<=>(const FsInode&) const = default;
};

struct FsComponent {
  std::string name;              // "" for the root
  std::optional<FsInode> inode;  // unset: does not exist yet
};

// A path as the sandbox's mount namespace has it: the root first, no symbolic links left but, at most, the last component.
using FsPath = std::vector<FsComponent>;

// What the rules' paths and the mounts are on one host at one time.
struct FsView {
  // By a rule's path: where it leads, with all symbolic links followed; and, where its last component is a link, also the
  // link itself. One or two paths each. The root's inode is always set.
  std::map<std::string, std::vector<FsPath>> paths;
  // Roots of mounts that the rules above their mount points are to cover: the mount point, whose last inode is the
  // mounted root. One whose inode a rule already has is left out by compile().
  std::vector<FsPath> mounts;
};

// A view in which nothing but "/" exists; for what is asked of a policy alone.
FsView empty_view(const Policy& policy);

}  // namespace sbpf::policy
