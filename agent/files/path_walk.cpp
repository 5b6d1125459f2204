// SPDX-License-Identifier: Apache-2.0
#include "agent/files/path_walk.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "agent/host/openat2.h"

namespace sbpf::agent {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel

tl::unexpected<Error> cannot_look_up(const std::string& path, int error) {
  const char* hint = error == ENOSYS  ? "a seccomp filter refuses openat2(2): under systemd RestrictSUIDSGID= does"
                     : error == ELOOP ? "its symbolic links lead in a circle, or were changed meanwhile"
                                      : "";
  return fail("fs_view", SystemError{error, hint}, "{} cannot be looked up", path);
}

// May others than root and who asks put another file in the place of one in this directory? A group of that user's own
// number is that user. Where there is a list of access rights, the group's bits are what anybody in it has at most.
bool lets_others_rename(const Fd& fd, const struct stat& info, uid_t asker) {
  if (!fd || !S_ISDIR(info.st_mode) || (info.st_mode & S_ISVTX) != 0) return false;
  if ((info.st_mode & S_IWOTH) != 0) return true;
  if ((info.st_mode & S_IWGRP) == 0) return false;
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  return (info.st_gid != 0 && info.st_gid != asker) ||
         ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

void push(std::vector<std::string>& left, const std::string& path) {
  std::vector<std::string> names = names_of(path);
  left.insert(left.end(), std::make_move_iterator(names.rbegin()), std::make_move_iterator(names.rend()));
}

}  // namespace

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t at = 0, end = 0; at < path.size(); at = end + 1) {
    end = std::min(path.find('/', at), path.size());
    if (end > at) names.push_back(path.substr(at, end - at));
  }
  return names;
}

std::string join(const std::vector<std::string>& names, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; i++) path += "/" + names[i];
  return path.empty() ? "/" : path;
}

Fd Follower::open(const std::string& path) const {
  note_(path);
  return open_resolved(root_.get(), path == "/" ? "." : path, O_PATH | O_NOFOLLOW,
                       RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
}

Result<Follower::Seen> Follower::look_at(const std::string& path) {
  if (const auto known = seen_.find(path); known != seen_.end()) return known->second;
  Seen seen;
  const Fd fd = open(path);
  // ENOTDIR: a file stands where the rule wants a directory; it may be replaced one day.
  if (!fd && errno != ENOENT && errno != ENOTDIR) return cannot_look_up(path, errno);
  struct stat info {};
  if (fd && ::fstat(fd.get(), &info) != 0) return cannot_look_up(path, errno);
  seen.there = static_cast<bool>(fd);
  seen.link = fd && S_ISLNK(info.st_mode);
  seen.owner = info.st_uid;
  seen.open = seen.owner != 0 && seen.owner != asker_;
  seen.open |= lets_others_rename(fd, info, asker_);
  if (seen.link) {
    std::array<char, PATH_MAX + 1> target{};
    const ssize_t n = ::readlinkat(fd.get(), "", target.data(), PATH_MAX);
    if (n < 0) return cannot_look_up(path, errno);
    seen.target.assign(target.data(), static_cast<std::size_t>(n));
  }
  return seen_.emplace(path, std::move(seen)).first->second;
}

// All of them were looked at on the way.
std::string Follower::untrusted_above(const std::vector<std::string>& names) const {
  for (std::size_t i = 1; i < names.size(); i++) {
    std::string path = join(names, i);
    if (const auto found = seen_.find(path); found != seen_.end() && found->second.open) return path;
  }
  return "";
}

Result<Followed> Follower::follow(const std::string& path) {
  Followed found;
  std::vector<std::string> left;  // the next one last
  push(left, path);
  std::size_t own = left.size();  // how many of them are the path's, not of a link's target
  while (!left.empty()) {
    const bool of_path = left.size() == own;
    if (of_path) own--;
    const std::string name = std::move(left.back());
    left.pop_back();
    if (name == ".") continue;
    if (name == "..") {
      if (!found.names.empty()) found.names.pop_back();
      found.existing = std::min(found.existing, found.names.size());
      continue;
    }
    found.names.push_back(name);
    if (found.existing + 1 < found.names.size()) continue;  // nothing exists here any more
    auto seen = look_at(join(found.names, found.names.size()));
    if (!seen) return tl::unexpected<Error>(seen.error());
    if (!seen->link) {
      found.existing += seen->there ? 1 : 0;
      continue;
    }
    if (found.links.size() == kMaxLinks) return cannot_look_up(path, ELOOP);
    found.links.push_back({found.names, seen->owner, seen->target, of_path && own == 0, untrusted_above(found.names)});
    found.names.pop_back();
    if (seen->target.starts_with('/')) {
      found.names.clear();
      found.existing = 0;
    }
    push(left, seen->target);
  }
  return found;
}

}  // namespace sbpf::agent
