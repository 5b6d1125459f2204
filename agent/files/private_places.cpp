// SPDX-License-Identifier: Apache-2.0
#include "agent/files/private_places.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fmt/core.h>
#include <cerrno>

#include "agent/host/openat2.h"

namespace sbpf::agent {
namespace {

tl::unexpected<Error> not_private(const std::string& path) {
  return fail("private_places", SystemError{errno, "sbpf run needs CAP_SYS_ADMIN, and must be allowed to mount"},
              "cannot make {} private to the sandbox", path);
}

Result<void> make(const std::string& path) {
  const Fd hosts = open_resolved(AT_FDCWD, path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
  const bool is_there = hosts || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP);
  if (!is_there) return {};
  struct stat like {};
  if (!hosts || ::fstat(hosts.get(), &like) != 0) return not_private(path);
  const std::string options = fmt::format("mode={:o},uid={},gid={}", like.st_mode & 07777, like.st_uid, like.st_gid);
  // By the descriptor: the name may lead elsewhere by now.
  const std::string over = fmt::format("/proc/thread-self/fd/{}", hosts.get());
  if (::mount("tmpfs", over.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) return not_private(path);
  return {};
}

}  // namespace

Result<void> make_private_places(const std::set<std::string>& paths) {
  for (const std::string& path : paths)
    if (auto made = make(path); !made) return made;
  return {};
}

bool is_private_place(const Fd& directory, const std::string& path) {
  const Fd root(::open("/proc/1/root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat its {
  }, hosts{};
  if (!root || ::fstat(directory.get(), &its) != 0) return false;
  const Fd there = open_resolved(root.get(), path, O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  if (!there) return errno == ENOENT;
  return ::fstat(there.get(), &hosts) == 0 && (its.st_dev != hosts.st_dev || its.st_ino != hosts.st_ino);
}

}  // namespace sbpf::agent
