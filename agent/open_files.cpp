// SPDX-License-Identifier: Apache-2.0
#include "agent/open_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "agent/fdinfo.h"
#include "agent/open_sockets.h"
#include "policy/filesystem.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

// Paths as the process's mount namespace has them; what has none (pipes, sockets, memfd) is empty.
std::string real_path(std::string target) {
  if (target.empty() || target.front() != '/' || target.rfind("/memfd:", 0) == 0 || target.rfind("/dev/zero", 0) == 0 ||
      target.rfind("/SYSV", 0) == 0)
    return "";
  constexpr std::string_view kDeleted = " (deleted)";
  if (target.ends_with(kDeleted)) target.resize(target.size() - kDeleted.size());
  return target;
}

const char* forbidden_use(std::uint32_t wanted, std::uint32_t rights) {
  if ((wanted & SBPF_FS_EXEC & ~rights) != 0) return " to be executed";
  if ((wanted & SBPF_FS_WRITE & ~rights) != 0) return " for writing";
  return (wanted & ~rights) != 0 ? " for reading" : nullptr;
}

// What lies on a disk has no place there: only a rule that names its node opens it. The name is the process's, and may lead elsewhere
// with it: here it must lead to that disk, too.
bool is_unnamed_disk(const std::string& link, const std::string& target, const policy::Image& image) {
  const struct statx info = stat_without_asking(link);
  if (!S_ISBLK(info.stx_mode)) return false;
  struct stat named {};
  return !policy::fs_names(image, target) || ::lstat(target.c_str(), &named) != 0 || !S_ISBLK(named.st_mode) ||
         named.st_rdev != ::makedev(info.stx_rdev_major, info.stx_rdev_minor);
}

// Which file it is, whatever its name: `device` as the hooks have it.
struct FileNumber {
  std::uint64_t ino = 0;
  std::uint32_t device = 0;
};

FileNumber file_number(const std::string& link) {
  const struct statx info = stat_without_asking(link);
  return {info.stx_ino, info.stx_dev_major << 20 | info.stx_dev_minor};
}

// What it may do with a file of this name. `path`: "" of what has no place.
std::uint32_t rights_of(const policy::Image& image, const std::string& path, const std::string& target, const FileNumber& file) {
  std::uint32_t rights = path.empty() ? ~0u : policy::fs_rights_at(image, path) & policy::fs_rights_of_file(image, file.ino, file.device);
  if (image.header().exec_places_only && path != target && target.starts_with('/')) rights &= ~std::uint32_t{SBPF_FS_EXEC};
  return rights;
}

}  // namespace

std::vector<std::string> forbidden_files(pid_t pid, const policy::Image& image, const policy::Image* before) {
  std::set<std::string> found;
  const sbpf_policy_header header = image.header();
  if ((header.flags & SBPF_POLICY_PATHS) == 0) return {};
  const std::string proc = "/proc/" + std::to_string(pid), who = "pid " + std::to_string(pid) + ": ";
  const auto judge = [&](const std::string& target, const FileNumber& file, std::uint32_t wanted, const char* how) {
    const std::string path = real_path(target);
    if (before) wanted &= rights_of(*before, path, target, file);
    if (const char* use = forbidden_use(wanted, rights_of(image, path, target, file))) found.insert(who + (path.empty() ? target : path) + how + use);
  };
  const auto judge_disk = [&](const std::string& link, const std::string& target, const char* how) {
    const auto forbids = [&](const policy::Image& one) { return (one.header().flags & SBPF_POLICY_FS) != 0 && is_unnamed_disk(link, target, one); };
    if (forbids(image) && (!before || !forbids(*before)))
      found.insert(who + target + how + ", a block device that no rule names");
  };
  for (const std::string& number : names_in(proc + "/fd")) {
    // Where they cannot be read, what is open is open for all.
    const long flags = fdinfo_number(read_fdinfo(proc + "/fdinfo/" + number).value_or(""), "flags:", 8).value_or(O_RDWR);
    if ((flags & O_PATH) != 0) continue;
    const std::string link = proc + "/fd/" + number;
    std::error_code ec;
    const long mode = flags & O_ACCMODE;
    std::uint32_t wanted = 0;
    if (mode != O_WRONLY) wanted |= SBPF_FS_READ;
    if (mode != O_RDONLY) wanted |= SBPF_FS_WRITE;
    const std::string target = fs::read_symlink(link, ec).string();
    judge(target, file_number(link), wanted, " open");
    judge_disk(link, target, " open");
  }
  std::ifstream maps(proc + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, permissions, offset, device, inode, path;
    fields >> range >> permissions >> offset >> device >> inode >> std::ws;
    std::getline(fields, path);
    std::uint32_t wanted = SBPF_FS_READ;
    if (permissions.size() == 4 && permissions[1] == 'w' && permissions[3] == 's') wanted |= SBPF_FS_WRITE;
    if (permissions.size() == 4 && permissions[2] == 'x') wanted |= SBPF_FS_EXEC;
    judge(path, path.starts_with('/') ? file_number(proc + "/map_files/" + range) : FileNumber(), wanted, " mapped");
    if (path.starts_with('/')) judge_disk(proc + "/map_files/" + range, path, " mapped");
  }
  return {found.begin(), found.end()};
}

Result<HeldFiles> files_taken_away(const Cgroup& cgroup, const policy::Image& before, const policy::Image& after) {
  auto pids = cgroup.processes();
  if (!pids) return tl::unexpected<Error>(pids.error());
  HeldFiles held;
  for (const pid_t pid : *pids)
    for (const pid_t task : tasks_with_descriptors(pid))
      for (std::string& file : forbidden_files(task, after, &before)) {
        held.files.push_back(std::move(file));
        held.holders.insert(pid);
      }
  return held;
}

}  // namespace sbpf::agent
