// SPDX-License-Identifier: Apache-2.0
// Who owns a file, who may use it, its times, attributes and flags: what may not be written may not be changed.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

constexpr long kFchmodat2 = 452, kSetxattrat = 463, kFileSetattr = 469;  // newer than the headers

std::string read_only(const Context& ctx) { return workspace(ctx, "ro/file"); }
std::string protected_file(const Context& ctx) { return workspace(ctx, "tests/test.py"); }

// An access list as it is stored: the owner may do all, the rest too, and user 1000 by name.
std::string access_list() {
  struct Entry {
    std::uint16_t tag, rights;
    std::uint32_t id;
  } const entries[] = {{0x01, 7, ~0u}, {0x02, 7, 1000}, {0x04, 7, ~0u}, {0x10, 7, ~0u}, {0x20, 7, ~0u}};
  const std::uint32_t version = 2;
  return std::string(reinterpret_cast<const char*>(&version), sizeof(version)) +
         std::string(reinterpret_cast<const char*>(entries), sizeof(entries));
}

void set_attribute(const std::string& path, const char* name, const std::string& value) {
  must(setxattr(path.c_str(), name, value.data(), value.size(), 0), "setxattr");
}

void mark(const FileScene& s) {
  must(setxattr(s("workspace/ro/file").c_str(), "user.mark", "x", 1, 0), "admin setxattr");
}

}  // namespace

FILE_ATTACK(chmod_of_read_only_file_is_refused, {.at = "chmod"}) {
  must(chmod(read_only(ctx).c_str(), 04777), "chmod");
}

FILE_ATTACK(chmod_of_protected_file_is_refused, {.at = "chmod", .form = Form::carved}) {
  must(chmod(protected_file(ctx).c_str(), 0), "chmod");
}

FILE_ATTACK(chmod_of_denied_directory_is_refused, {.at = "chmod", .form = Form::open}) {
  must(chmod(workspace(ctx, "secret").c_str(), 0777), "chmod");
}

FILE_ATTACK(chmod_on_tmpfs_is_refused, {.at = "chmod", .ground = Ground::memory}) {
  must(chmod(read_only(ctx).c_str(), 0777), "chmod");
}

FILE_ATTACK(fchmod_of_read_only_file_is_refused, {.at = "fchmod"}) {
  const Fd fd = open_file(read_only(ctx), O_RDONLY);
  must(fchmod(fd.get(), 0777), "fchmod");
}

FILE_ATTACK(fchmodat_through_proc_descriptor_is_refused, {.at = "fchmodat"}) {
  const Fd fd = open_path(workspace(ctx, "secret/token"));
  must(fchmodat(AT_FDCWD, fd_link(fd).c_str(), 0777, 0), "fchmodat");
}

FILE_ATTACK(fchmodat2_of_path_descriptor_is_refused, {.at = "fchmodat2", .lacking = {{ENOSYS}}}) {
  const Fd fd = open_path(read_only(ctx));
  must(syscall(kFchmodat2, fd.get(), "", 0777, AT_EMPTY_PATH), "fchmodat2");
}

FILE_ATTACK(chown_of_read_only_file_is_refused, {.at = "chown", .root = true}) {
  must(chown(read_only(ctx).c_str(), 1000, 1000), "chown");
}

FILE_ATTACK(fchown_of_read_only_file_is_refused, {.at = "fchown", .form = Form::carved, .root = true}) {
  const Fd fd = open_file(read_only(ctx), O_RDONLY);
  must(fchown(fd.get(), 1000, 1000), "fchown");
}

FILE_ATTACK(fchownat_of_path_descriptor_is_refused, {.at = "fchownat", .root = true}) {
  const Fd fd = open_path(scene(ctx, "outside/token"));
  must(fchownat(fd.get(), "", 1000, 1000, AT_EMPTY_PATH), "fchownat");
}

FILE_ATTACK(lchown_of_read_only_link_is_refused,
            {.at = "lchown",
             .prepare = [](const FileScene& s) { admin_symlink("file", s("workspace/ro/link")); },
             .root = true}) {
  must(lchown(workspace(ctx, "ro/link").c_str(), 1000, 1000), "lchown");
}

FILE_ATTACK(utimes_of_read_only_file_is_refused, {.at = "utimensat"}) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  must(utimensat(AT_FDCWD, read_only(ctx).c_str(), times, 0), "utimensat");
}

FILE_ATTACK(utimes_of_protected_directory_is_refused, {.at = "utimensat", .form = Form::open}) {
  must(utimensat(AT_FDCWD, workspace(ctx, "tests").c_str(), nullptr, 0), "utimensat");
}

FILE_ATTACK(futimens_of_read_only_file_is_refused, {.at = "futimens"}) {
  const Fd fd = open_file(read_only(ctx), O_RDONLY);
  const timespec times[2] = {{1, 0}, {1, 0}};
  must(futimens(fd.get(), times), "futimens");
}

FILE_ATTACK(utimes_on_tmpfs_is_refused, {.at = "utimensat", .ground = Ground::memory}) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  must(utimensat(AT_FDCWD, protected_file(ctx).c_str(), times, 0), "utimensat");
}

FILE_ATTACK(setxattr_of_read_only_file_is_refused, {.at = "setxattr"}) {
  set_attribute(read_only(ctx), "user.mark", "x");
}

FILE_ATTACK(setxattr_of_protected_directory_is_refused, {.at = "setxattr", .form = Form::carved, .root = true}) {
  set_attribute(workspace(ctx, "tests"), "user.mark", "x");
}

// Trusted attributes need a capability that no sandbox with rules for files has; tmpfs before 6.6 has no others.
FILE_ATTACK(setxattr_on_tmpfs_is_refused,
            {.at = "setxattr", .expected = EPERM, .ground = Ground::memory, .grant = Grant::none, .root = true}) {
  set_attribute(read_only(ctx), "trusted.mark", "x");
}

FILE_ATTACK(lsetxattr_of_read_only_link_is_refused,
            {.at = "lsetxattr",
             .expected = EPERM,  // a link takes only trusted attributes, and those a capability
             .grant = Grant::none,
             .prepare = [](const FileScene& s) { admin_symlink("file", s("workspace/ro/link")); },
             .root = true}) {
  must(lsetxattr(workspace(ctx, "ro/link").c_str(), "trusted.mark", "x", 1, 0), "lsetxattr");
}

FILE_ATTACK(fsetxattr_of_read_only_file_is_refused, {.at = "fsetxattr"}) {
  const Fd fd = open_file(read_only(ctx), O_RDONLY);
  must(fsetxattr(fd.get(), "user.mark", "x", 1, 0), "fsetxattr");
}

FILE_ATTACK(setxattrat_of_read_only_file_is_refused, {.at = "setxattrat", .lacking = {{ENOSYS}}}) {
  const Fd directory = open_path(workspace(ctx, "ro"));
  struct {
    std::uint64_t value;
    std::uint32_t size, flags;
  } arguments{};
  char value = 'x';
  arguments.value = reinterpret_cast<std::uintptr_t>(&value);
  arguments.size = 1;
  must(syscall(kSetxattrat, directory.get(), "file", 0, "user.mark", &arguments, sizeof(arguments)), "setxattrat");
}

FILE_ATTACK(removexattr_of_read_only_file_is_refused, {.at = "removexattr", .prepare = mark}) {
  must(removexattr(read_only(ctx).c_str(), "user.mark"), "removexattr");
}

FILE_ATTACK(file_capability_of_protected_file_is_refused, {.at = "setxattr", .root = true}) {
  // Version 2, effective, CAP_CHOWN.
  set_attribute(protected_file(ctx), "security.capability",
                std::string("\1\0\0\2\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20));
}

FILE_ATTACK(access_list_of_read_only_file_is_refused, {.at = "setxattr"}) {
  set_attribute(read_only(ctx), "system.posix_acl_access", access_list());
}

FILE_ATTACK(default_access_list_of_protected_directory_is_refused, {.at = "setxattr", .form = Form::open}) {
  set_attribute(workspace(ctx, "tests"), "system.posix_acl_default", access_list());
}

FILE_ATTACK(removal_of_access_list_is_refused,
            {.at = "removexattr", .prepare = [](const FileScene& s) {
               const std::string list = access_list();
               must(setxattr(s("workspace/ro/file").c_str(), "system.posix_acl_access", list.data(), list.size(), 0),
                    "admin setxattr");
             }}) {
  must(removexattr(read_only(ctx).c_str(), "system.posix_acl_access"), "removexattr");
}

FILE_ATTACK(inode_flags_of_read_only_file_are_refused, {.at = "ioctl", .lacking = {{ENOTTY, EOPNOTSUPP}}}) {
  const Fd fd = open_file(read_only(ctx), O_RDONLY);
  int flags = 0;
  must(ioctl(fd.get(), FS_IOC_GETFLAGS, &flags), "ioctl get");
  flags |= FS_NODUMP_FL;
  must(ioctl(fd.get(), FS_IOC_SETFLAGS, &flags), "ioctl");
}

FILE_ATTACK(fsxattr_of_read_only_file_is_refused, {.at = "ioctl", .lacking = {{ENOTTY, EOPNOTSUPP}}}) {
  const Fd fd = open_file(read_only(ctx), O_RDONLY);
  fsxattr attributes{};
  must(ioctl(fd.get(), FS_IOC_FSGETXATTR, &attributes), "ioctl get");
  attributes.fsx_xflags |= FS_XFLAG_NODUMP;
  must(ioctl(fd.get(), FS_IOC_FSSETXATTR, &attributes), "ioctl");
}

FILE_ATTACK(file_setattr_of_read_only_file_is_refused, {.at = "file_setattr", .lacking = {{ENOSYS, EOPNOTSUPP}}}) {
  struct {
    std::uint64_t flags = FS_XFLAG_NODUMP;
    std::uint32_t extent_size = 0, extents = 0, project = 0, cow_extent_size = 0;
  } attributes;
  must(syscall(kFileSetattr, AT_FDCWD, read_only(ctx).c_str(), &attributes, sizeof(attributes), 0), "file_setattr");
}
