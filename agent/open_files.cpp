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

const struct statx kNoFile {};  // of what has no place

const char* forbidden_use(std::uint32_t wanted, std::uint32_t rights) {
  if ((wanted & SBPF_FS_EXEC & ~rights) != 0) return " to be executed";
  if ((wanted & SBPF_FS_WRITE & ~rights) != 0) return " for writing";
  return (wanted & ~rights) != 0 ? " for reading" : nullptr;
}

// What lies on a disk has no place there: only a rule that names its node opens it. The name is the process's, and may lead elsewhere
// with it: here it must lead to that disk, too.
bool is_unnamed_disk(const struct statx& file, const std::string& target, const policy::Image& image) {
  if (!S_ISBLK(file.stx_mode)) return false;
  struct stat named {};
  return !policy::fs_names(image, target) || ::lstat(target.c_str(), &named) != 0 || !S_ISBLK(named.st_mode) ||
         named.st_rdev != ::makedev(file.stx_rdev_major, file.stx_rdev_minor);
}

// What it may do with this file by this name. `path`: "" of what has no place.
std::uint32_t rights_of(const policy::Image& image, const std::string& path, const std::string& target, const struct statx& file) {
  std::uint32_t rights = ~0u;
  if (!path.empty())
    rights = policy::fs_rights_at(image, path) & policy::fs_rights_of_file(image, file.stx_ino, file.stx_dev_major << 20 | file.stx_dev_minor);
  if (image.header().exec_places_only && path != target && target.starts_with('/')) rights &= ~std::uint32_t{SBPF_FS_EXEC};
  return rights;
}

}  // namespace

std::vector<std::string> forbidden_files(pid_t pid, const policy::Image& image, const policy::Image* before) {
  std::set<std::string> found;
  const sbpf_policy_header header = image.header();
  if ((header.flags & SBPF_POLICY_PATHS) == 0) return {};
  const std::string proc = "/proc/" + std::to_string(pid), who = "pid " + std::to_string(pid) + ": ";
  const auto judge = [&](const std::string& target, const struct statx& file, std::uint32_t wanted, const char* how) {
    const std::string path = real_path(target);
    if (before) wanted &= rights_of(*before, path, target, file);
    if (const char* use = forbidden_use(wanted, rights_of(image, path, target, file))) found.insert(who + (path.empty() ? target : path) + how + use);
  };
  const auto judge_disk = [&](const std::string& target, const struct statx& file, const char* how) {
    const auto forbids = [&](const policy::Image& one) { return (one.header().flags & SBPF_POLICY_FS) != 0 && is_unnamed_disk(file, target, one); };
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
    const struct statx file = stat_without_asking(link);
    judge(target, file, wanted, " open");
    judge_disk(target, file, " open");
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
    const struct statx file = path.starts_with('/') ? stat_without_asking(proc + "/map_files/" + range) : kNoFile;
    judge(path, file, wanted, " mapped");
    judge_disk(path, file, " mapped");
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
