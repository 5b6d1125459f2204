// SPDX-License-Identifier: Apache-2.0
#include "agent/files/private_places.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <fmt/core.h>
#include <cerrno>

#include "agent/host/openat2.h"

namespace sbpf::agent {
namespace {

// Nobody mounts inside, so what has this name was made by `run`.
constexpr const char* kSource = "sbpf-private";

tl::unexpected<Error> not_private(const std::string& path) {
  return fail("private_places", SystemError{errno, kNeedsToMount}, "cannot make {} private to the sandbox", path);
}

Result<void> make(const std::string& path) {
  const Fd hosts = open_directory_without_links(path);
  const bool is_there = hosts || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP);
  if (!is_there) return {};
  struct stat like {};
  if (!hosts || ::fstat(hosts.get(), &like) != 0) return not_private(path);
  const std::string options = fmt::format("mode={:o},uid={},gid={}", like.st_mode & 07777, like.st_uid, like.st_gid);
  struct statvfs mounted {};
  if (::fstatvfs(hosts.get(), &mounted) != 0) return not_private(path);
  const unsigned long flags = MS_NOSUID | MS_NODEV | ((mounted.f_flag & ST_NOEXEC) != 0 ? MS_NOEXEC : 0);
  // By the descriptor: the name may lead elsewhere by now.
  const std::string over = fmt::format("/proc/thread-self/fd/{}", hosts.get());
  if (::mount(kSource, over.c_str(), "tmpfs", flags, options.c_str()) != 0) return not_private(path);
  return {};
}

}  // namespace

Result<void> make_private_places(const std::set<std::string>& paths) {
  for (const std::string& path : paths)
    if (auto made = make(path); !made) return made;
  return {};
}

bool is_private_place(const Mount& mount) {
  return mount.type == "tmpfs" && mount.source == kSource && mount.root == "/";
}

Fd open_hidden(const std::string& path) {
  const Fd root(::open("/proc/1/root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Fd();
  return open_resolved(root.get(), path, O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

}  // namespace sbpf::agent
