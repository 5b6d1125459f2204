// SPDX-License-Identifier: Apache-2.0
#include "agent/host/kernel_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <sstream>
#include <string_view>

#include "agent/host/fdinfo.h"
#include "agent/host/openat2.h"
#include "base/fd.h"

namespace sbpf::agent {
namespace {

constexpr std::string_view kDrives = "a file that drives the kernel open for writing";

bool is_number(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool keeps_files(long magic) {
  constexpr long kSecretMem = 0x5345434d, kMqueue = 0x19800202, kCifs = 0xff534d42, kAufs = 0x61756673,
                 kVboxsf = 0x786f4256;
  switch (magic) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case HUGETLBFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case DEVPTS_SUPER_MAGIC:
    case ECRYPTFS_SUPER_MAGIC:
    case V9FS_MAGIC:
    case SMB2_SUPER_MAGIC:
    case DMA_BUF_MAGIC:
    case kSecretMem:
    case kMqueue:
    case kCifs:
    case kAufs:
    case kVboxsf:
      return true;
    default:
      return false;
  }
}

// What a file is whose mount is gone, or in no namespace of ours. Who serves a filesystem is not asked, as it may be
// frozen: such filesystems have file handles, and the kernel's interfaces have none, or one of a kind of their own.
enum class LostFile { no_matter, proc, control };
LostFile file_of_lost_mount(const std::string& link) {
  constexpr int kKernfsHandle = 0xfe;  // FILEID_KERNFS, include/linux/exportfs.h: sysfs, cgroupfs
  const struct statx info = stat_without_asking(link);
  if (info.stx_dev_major != 0 || (!S_ISREG(info.stx_mode) && !S_ISDIR(info.stx_mode))) return LostFile::no_matter;
  union {
    file_handle head;
    std::array<char, sizeof(file_handle) + MAX_HANDLE_SZ> room;
  } handle{};
  handle.head.handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (::name_to_handle_at(AT_FDCWD, link.c_str(), &handle.head, &mount, AT_SYMLINK_FOLLOW) == 0)
    return handle.head.handle_type == kKernfsHandle ? LostFile::control : LostFile::no_matter;
  struct statfs filesystem {};
  if (errno != EOPNOTSUPP || ::statfs(link.c_str(), &filesystem) != 0) return LostFile::no_matter;
  if (filesystem.f_type == PROC_SUPER_MAGIC) return LostFile::proc;
  return keeps_files(filesystem.f_type) ? LostFile::no_matter : LostFile::control;
}

bool is_same(const struct statx& a, const struct statx& b) {
  return a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}

struct statx stat_of(const Fd& fd) {
  struct statx info {};
  (void)::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &info);
  return info;
}

Fd open_proc(const std::string& root) { return Fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); }

// What the path means in this very /proc: no link leads away, and what is mounted over parts of it is not taken for it.
Fd open_in_proc(const Fd& proc, const std::string& path, int flags) {
  return open_resolved(proc.get(), path, flags | O_NOFOLLOW, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

// The path of an open file below the root of this /proc: the end of what it is called that leads to that very file
// there. "": it is the root. Nothing: no end does.
std::optional<std::string> path_in(const std::string& root, const std::string& link, const std::string& target) {
  const struct statx file = stat_without_asking(link);
  const Fd proc = open_proc(root);
  if (!proc || file.stx_ino == 0) return std::nullopt;
  if (is_same(stat_of(proc), file)) return "";
  for (std::size_t at = target.find('/'); at != std::string::npos; at = target.find('/', at + 1)) {
    const std::string path = target.substr(at + 1);
    const Fd found = open_in_proc(proc, path, O_PATH);
    if (found && is_same(stat_of(found), file)) return path;
  }
  return std::nullopt;
}

}  // namespace

bool keeps_files(std::string_view type) {
  constexpr std::string_view kTypes[] = {"9p",    "afs",       "aufs",     "autofs",   "bcachefs", "btrfs",   "ceph",
                                         "cifs",  "devpts",    "devtmpfs", "ecryptfs", "fuse",     "fuseblk", "gfs2",
                                         "gpfs",  "hugetlbfs", "jffs2",    "lustre",   "mqueue",   "nfs",     "nfs4",
                                         "ocfs2", "orangefs",  "overlay",  "ramfs",    "shiftfs",  "smb3",    "tmpfs",
                                         "ubifs", "vboxsf",    "virtiofs", "zfs"};
  return type.starts_with("fuse.") || std::ranges::find(kTypes, type) != std::end(kTypes);
}

std::string owner_in_proc(const std::string& path) {
  std::istringstream names(path);
  std::vector<std::string> all;
  for (std::string name; std::getline(names, name, '/');) all.push_back(name);
  if (all.empty() || !is_number(all[0])) return "";
  // Where the names of a process's or thread's files begin.
  const std::size_t own = all.size() > 2 && all[1] == "task" ? 3 : 1;
  return all.size() > own + 1 && all[own] == "net" ? "" : all[0];
}

KernelFiles::KernelFiles(pid_t task, const std::set<pid_t>& inside)
    : task_(task), proc_("/proc/" + std::to_string(task)), inside_(inside) {}

std::string KernelFiles::forbidden(const std::string& link, const std::string& target, const std::string& fdinfo,
                                   bool writes) {
  constexpr std::string_view kNames[] = {"cgroup.procs", "cgroup.threads", "release_agent"};
  constexpr std::string_view kCgroup = "a cgroup file open for writing";
  if (!target.starts_with('/')) return "";
  // Whatever mount it is: one that is gone has no type.
  if (writes && std::ranges::find(kNames, last_name(target)) != std::end(kNames)) return std::string(kCgroup);
  const auto id = fdinfo_number(fdinfo, "mnt_id:");
  const auto found = id ? mount_of(*id) : std::nullopt;
  if (!found) {
    const LostFile lost = file_of_lost_mount(link);
    if (lost == LostFile::proc) return "a file of /proc that cannot be told whose it is, open";
    return writes && lost == LostFile::control ? std::string(kDrives) : "";
  }
  const auto& [mount, root] = *found;
  if (mount.type == "proc") return forbidden_of_proc(mount, root, link, target, writes);
  if (!writes) return "";
  if (mount.type.starts_with("cgroup")) return std::string(kCgroup);
  return stat_without_asking(link).stx_dev_major != 0 || keeps_files(mount.type) ? "" : std::string(kDrives);
}

std::string KernelFiles::forbidden_of_proc(const Mount& mount, const std::string& root, const std::string& link,
                                           const std::string& target, bool writes) {
  constexpr std::string_view kOutside = "a file of a process that is outside, or has ended, open";
  if (mount.root != "/") {  // of a part of it, whose numbers cannot be told
    if (!owner_in_proc(mount.root.substr(1)).empty()) return std::string(kOutside);
    return writes ? std::string(kDrives) : "";
  }
  const auto path = path_in(root + mount.point, link, target);
  if (!path) return std::string(kOutside);
  const std::string owner = owner_in_proc(*path);
  // The priority that autogroup sets is the session's.
  if (owner.empty() || last_name(*path) == "autogroup") return writes ? std::string(kDrives) : "";
  return is_inside(root + mount.point, owner) ? "" : std::string(kOutside);
}

std::optional<std::pair<Mount, std::string>> KernelFiles::mount_of(long id) {
  const auto find = [&](const std::vector<Mount>& mounts) {
    return std::ranges::find(mounts, static_cast<std::uint32_t>(id), &Mount::id);
  };
  if (!mounts_) mounts_ = parse_mounts(read_file(proc_ + "/mountinfo"));
  if (const auto mount = find(*mounts_); mount != mounts_->end()) return std::pair(*mount, proc_ + "/root");
  if (!own_mounts_) own_mounts_ = own_mounts();
  if (const auto mount = find(*own_mounts_); mount != own_mounts_->end()) return std::pair(*mount, std::string());
  return std::nullopt;
}

// `process`: its number in that /proc. Most have files of their own open.
bool KernelFiles::is_inside(const std::string& proc, const std::string& process) {
  const auto identity = identity_of(proc, process);
  if (!identity) return false;
  if (identity == identity_of("/proc", std::to_string(task_))) return true;
  if (!identities_) {
    identities_.emplace();
    for (const pid_t pid : inside_)
      if (auto one = identity_of("/proc", std::to_string(pid)); one) identities_->insert(*std::move(one));
  }
  return identities_->contains(*identity);
}

// By the last of its numbers: the one in its own namespace.
std::optional<KernelFiles::Identity> KernelFiles::identity_of(const std::string& proc, const std::string& process) {
  constexpr std::string_view kKey = "\nNStgid:";
  const Fd top = open_proc(proc), space = open_in_proc(top, process + "/ns/pid", O_PATH),
           file = open_in_proc(top, process + "/status", O_RDONLY);
  std::array<char, 64> name{};
  if (!space || ::readlinkat(space.get(), "", name.data(), name.size() - 1) <= 0) return std::nullopt;
  constexpr std::size_t kEnough = 1u << 16;
  const std::string status = file ? read_up_to(file, kEnough).value_or("") : "";
  const std::size_t key = status.find(kKey);
  if (key == std::string::npos) return std::nullopt;
  const std::string numbers = status.substr(key + kKey.size(), status.find('\n', key + 1) - key - kKey.size());
  return Identity(name.data(), numbers.substr(numbers.rfind('\t') + 1));
}

}  // namespace sbpf::agent
