// SPDX-License-Identifier: Apache-2.0
// The places of a policy's paths: looked up in the sandbox's mount namespace, identified as the hooks see them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/files/namespaces.h"
#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "policy/filesystem.h"
#include "policy/image.h"

namespace sbpf::agent {

// A file system that hangs is given up after so long.
inline constexpr std::chrono::milliseconds kLookUpPatience{10'000};

// Where files with several names are looked for beside the policy's own places; and, by their numbers, files that are
// open by a name that is gone: the one that is left is another one.
struct OtherNames {
  std::set<std::string> places;
  std::set<std::uint64_t> renamed;
};

// Looks up every path of the policy's filesystem and exec rules, every mount, and each file that has several names,
// from a mount view. A symbolic link is followed only if root made it, or the user who asks; otherwise: "planted_link".
// Errors: "fs_view" (a path cannot be looked up, with its location), "inodes" (the kernel gave no answer), those of
// in_child().
Result<policy::FsView> look_up(const Kernel& kernel, const policy::Policy& policy, const MountView& mount_view,
                               const OtherNames& others = {}, std::chrono::milliseconds patience = kLookUpPatience);

// Where the paths of a policy were looked up, the symbolic links that they led through, and where files were looked for
// that have several names: what a policy that is gone let be written, too.
struct WalkedPaths {
  std::uint64_t mounts = 0;  // the number of the mount namespace
  std::vector<std::string> links;
  std::set<std::string> walked;
};

// A policy that was published, as it was looked up then.
struct KeptPolicy {
  policy::Policy policy;
  WalkedPaths walked_paths;
};

struct CompileOptions {
  std::chrono::milliseconds patience = kLookUpPatience;
  const policy::Image* before = nullptr;  // the policy in force: a link that it lets the sandbox make is planted
  const KeptPolicy* kept = nullptr;       // the same, if its text was kept
  // Only there, and through these links: none of the sandbox's own making is followed unasked.
  const WalkedPaths* again = nullptr;
  WalkedPaths* walked_paths = nullptr;   // receives it
  std::set<std::uint64_t> renamed = {};  // as OtherNames has it
};

// Compiles the policy with its paths as they are seen from a mount view. Errors: those of `find_mount_view` (which is
// asked only where the policy has paths), of look_up(), of agent/files/namespaces.h and of policy::compile();
// "planted_link".
Result<policy::Image> compile_from(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation,
                                   const std::function<Result<MountView>()>& find_mount_view,
                                   const CompileOptions& options);

// The same with the paths as this thread has them (`left_by_others`: as MountView has it), and as a process of the
// user who asks has them, who may have brought a workspace.
Result<policy::Image> compile_here(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation,
                                   const std::string& left_by_others, WalkedPaths* walked_paths);
Result<policy::Image> compile_as_seen_by(pid_t pid, uid_t asker, const Kernel& kernel, const policy::Policy& policy,
                                         std::uint32_t generation, WalkedPaths* walked_paths);

}  // namespace sbpf::agent
