// SPDX-License-Identifier: Apache-2.0
#include "agent/files/other_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <fmt/core.h>
#include <cerrno>
#include <cstring>
#include <memory>

#include "agent/files/path_walk.h"
#include "agent/host/openat2.h"
#include "bpf/abi.h"

namespace sbpf::agent {
namespace {

// Gone, replaced, or of another mount.
bool is_left_out(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV; }

class Walk {
 public:
  Walk(std::size_t above, const std::set<std::uint64_t>& renamed, const std::function<void(const std::string&)>& note,
       const std::function<void(const std::vector<std::string>&)>& found)
      : above_(above), renamed_(renamed), note_(note), found_(found) {}

  Result<void> directory(Fd fd, std::vector<std::string>& names) {
    const std::string path = join(names, names.size());
    note_(path);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd.get()), ::closedir);
    if (!entries) return cannot_read(path);
    (void)fd.release();
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(entries.get());
      if (!entry) return errno == 0 ? Result<void>() : cannot_read(path);
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0 || entry->d_type == DT_LNK)
        continue;
      names.emplace_back(entry->d_name);
      auto done = this->entry(::dirfd(entries.get()), *entry, names);
      names.pop_back();
      if (!done) return done;
    }
  }

  Result<void> file(int parent, const char* name, const std::vector<std::string>& names) {
    struct stat info {};
    if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT) != 0)
      return is_left_out(errno) ? Result<void>() : cannot_read(join(names, names.size()));
    if (!S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode) && (info.st_nlink > 1 || renamed_.contains(info.st_ino)))
      found_(names);
    return {};
  }

  static Result<void> cannot_read(const std::string& path, int error = errno) {
    return fail("fs_view", SystemError{error}, "it cannot be told which files have other names: {} cannot be read",
                path);
  }

 private:
  Result<void> entry(int parent, const dirent& entry, std::vector<std::string>& names) {
    if (entry.d_type != DT_DIR && entry.d_type != DT_UNKNOWN) return file(parent, entry.d_name, names);
    if (names.size() - above_ >= SBPF_FS_MAX_WALK) return {};
    auto fd = open_beneath(parent, entry.d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                           RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV, entry.d_name);
    if (fd) return directory(std::move(*fd), names);
    const int error = fd.error().sys_errno;
    if (error == ENOTDIR) return file(parent, entry.d_name, names);
    return is_left_out(error) ? Result<void>() : cannot_read(join(names, names.size()), error);
  }

  const std::size_t above_;  // names of the top's own path: the hooks may count from there
  const std::set<std::uint64_t>& renamed_;
  const std::function<void(const std::string&)>& note_;
  const std::function<void(const std::vector<std::string>&)>& found_;
};

}  // namespace

Result<void> each_file_with_other_names(const Fd& top, std::vector<std::string> names,
                                        const std::set<std::uint64_t>& renamed,
                                        const std::function<void(const std::string&)>& note,
                                        const std::function<void(const std::vector<std::string>&)>& found) {
  Walk walk(names.size(), renamed, note, found);
  Fd directory(::openat(top.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) return walk.directory(std::move(directory), names);
  return errno == ENOTDIR ? walk.file(top.get(), "", names) : Walk::cannot_read(join(names, names.size()));
}

}  // namespace sbpf::agent
