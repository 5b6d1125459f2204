// SPDX-License-Identifier: Apache-2.0
#include "agent/files/workspace.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <vector>

#include "agent/files/private_places.h"
#include "agent/host/kernel_files.h"
#include "agent/host/openat2.h"
#include "base/mounts.h"

namespace sbpf::agent {
namespace {

// Is it a directory of files, and not an interface of the kernel, of which a sandbox has its own or none?
bool is_of_files(const Fd& directory) {
  struct statx info {};
  if (::statx(directory.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &info) != 0) return false;
  const std::vector<Mount> mounts = own_mounts();
  const auto on = std::ranges::find_if(mounts, [&](const Mount& mount) { return mount.id == info.stx_mnt_id; });
  return on != mounts.end() && (info.stx_dev_major != 0 || keeps_files(on->type));
}

// Is /workspace this directory, and not what somebody had moved there meanwhile?
bool is_there(const Fd& tree) {
  struct stat there {
  }, its{};
  return ::lstat(kWorkspace, &there) == 0 && ::fstat(tree.get(), &its) == 0 && there.st_dev == its.st_dev &&
         there.st_ino == its.st_ino;
}

}  // namespace

Result<Fd> open_workspace(const std::string& path) {
  const Fd directory = open_directory_without_links(path);
  if (!directory) {
    const int error = errno;
    return fail("usage", SystemError{error, error == ELOOP ? "write the path that `realpath` prints" : ""},
                "--workspace: {} is no directory that is reached without symbolic links", path);
  }
  if (!is_of_files(directory))
    return fail("usage", fmt::format("--workspace: {} is an interface of the kernel", path),
                "name a directory of files");
  // A copy of the mount, since none of this mount namespace can be mounted in another.
  Fd tree(::open_tree(directory.get(), "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree) return fail("private_places", SystemError{errno, kNeedsToMount}, "cannot make a mount of {}", path);
  return tree;
}

Result<void> enter_workspace(const Fd& tree) {
  if (::mkdir(kWorkspace, 0755) != 0 && errno != EEXIST)
    return fail("private_places", SystemError{errno, "make that directory on the host"}, "cannot make {}", kWorkspace);
  const Fd over = open_directory_without_links(kWorkspace);
  const unsigned both = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
  // A slave, as all mounts of the sandbox are.
  if (!over || ::move_mount(tree.get(), "", over.get(), "", both) != 0 ||
      ::mount(nullptr, kWorkspace, nullptr, MS_REC | MS_SLAVE, nullptr) != 0 || !is_there(tree) ||
      ::fchdir(tree.get()) != 0)
    return fail("private_places", SystemError{errno, "it must be a directory, and no symbolic link"},
                "cannot mount the workspace on {}", kWorkspace);
  return {};
}

}  // namespace sbpf::agent
