// SPDX-License-Identifier: Apache-2.0
// Information in /proc on descriptors, mappings and tasks.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace sbpf::agent {

// The number behind the key at the beginning of a line ("flags:", in octal; "TracerPid:"); nothing: no line has it.
// Pure.
inline std::optional<long> fdinfo_number(std::string_view text, std::string_view key, int base = 10) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", key.size()), line.size()));
    long number = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), number, base).ec == std::errc()) return number;
  }
  return std::nullopt;
}

// A file of /proc/PID/fdinfo; of one that has no end (an io_uring's, an epoll's), the beginning. Nothing: it cannot be
// read.
inline std::optional<std::string> read_fdinfo(const std::string& path) {
  constexpr std::size_t kEnough = 16u << 20;
  return read_up_to(path, kEnough);
}

// When a process began, in clock ticks since the host did; nothing: it cannot be told.
inline std::optional<std::uint64_t> start_ticks(pid_t pid) {
  constexpr int kStartTime = 22, kFirstBehindName = 3;
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = kFirstBehindName; i < kStartTime; i++) fields >> field;
  std::uint64_t ticks = 0;
  return fields >> ticks ? std::optional(ticks) : std::nullopt;
}

// The names in a directory of /proc. If the directory vanishes meanwhile, with its process, the names that were read.
inline std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ec;
  for (std::filesystem::directory_iterator entry(directory, ec), end; !ec && entry != end; entry.increment(ec))
    names.push_back(entry->path().filename());
  return names;
}

// The file behind a link of /proc/PID/fd or map_files, without a request to its filesystem's server, which may be
// frozen; all zero if that cannot be told.
inline struct statx stat_without_asking(const std::string& link) {
  struct statx info {};
  (void)::statx(AT_FDCWD, link.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &info);
  return info;
}

}  // namespace sbpf::agent
