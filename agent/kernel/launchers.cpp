// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/launchers.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>

#include "agent/kernel/inodes.h"

namespace sbpf::agent {
namespace {

constexpr const char* kFirstProcess = "/proc/1/exe";
constexpr const char* kDescriptors = "/proc/1/fd";

// Which a manager that has one keeps open. Not by its path: where there is none, whoever makes a file there would be
// the manager's.
Fd open_helper() {
  std::error_code ec;
  for (std::filesystem::directory_iterator entry(kDescriptors, ec), end; !ec && entry != end; entry.increment(ec)) {
    const auto target = std::filesystem::read_symlink(entry->path(), ec).string();
    if (!ec && target.starts_with("/usr/lib/systemd/systemd-executor"))
      return Fd(::open(entry->path().c_str(), O_PATH | O_CLOEXEC));
    ec.clear();
  }
  return {};
}

std::array<Fd, SBPF_LAUNCHERS> open_launchers() {
  std::error_code ec;
  const auto path = std::filesystem::read_symlink(kFirstProcess, ec);
  if (ec || !is_manager_path(path.string())) return {};
  return {Fd(::open(kFirstProcess, O_PATH | O_CLOEXEC)), open_helper()};
}

}  // namespace

bool is_manager_path(const std::string& path) {
  const std::string_view replaced = " (deleted)";
  const std::string_view whole = path;
  return whole.substr(0, whole.ends_with(replaced) ? whole.size() - replaced.size() : whole.size())
      .ends_with("/systemd");
}

std::string launchers_now() {
  std::string now;
  for (const Fd& file : open_launchers()) {
    struct stat info {};
    if (file && ::fstat(file.get(), &info) == 0) now += std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
    now += " ";
  }
  return now;
}

Result<void> note_launchers(const Kernel& kernel) {
  const auto files = open_launchers();
  auto inodes = open_inodes(kernel);
  if (!inodes) return tl::unexpected<Error>(inodes.error());
  for (std::size_t i = 0; i < files.size(); i++) {
    sbpf_fs_inode& launcher = kernel.globals().guard.launchers[i];
    const auto found = files[i] ? inodes->find(files[i].get()) : inodes->end();
    // The number is written last, and half an entry is nobody's.
    __atomic_store_n(&launcher.ino, std::uint64_t{0}, __ATOMIC_SEQ_CST);
    if (found == inodes->end() || found->second.dev == 0) continue;
    __atomic_store_n(&launcher.dev, found->second.dev, __ATOMIC_SEQ_CST);
    __atomic_store_n(&launcher.generation, found->second.generation, __ATOMIC_SEQ_CST);
    __atomic_store_n(&launcher.ino, found->second.ino, __ATOMIC_SEQ_CST);
  }
  return {};
}

}  // namespace sbpf::agent
