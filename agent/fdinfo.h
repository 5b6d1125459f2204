// SPDX-License-Identifier: Apache-2.0
// What /proc says of descriptors and mappings.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace sbpf::agent {

// The number behind the key ("flags:", in octal; "Pid:") in a file of /proc/PID/fdinfo; 0: it has no such line.
inline long fdinfo_number(const std::string& path, std::string_view key, int base = 10) {
  std::ifstream info(path);
  for (std::string word; info >> word;)
    if (word == key && info >> word) return std::strtol(word.c_str(), nullptr, base);
  return 0;
}

// What is behind a link of /proc/PID/fd or map_files, without asking who serves its filesystem, which may be frozen; all zero where
// that cannot be told.
inline struct statx stat_without_asking(const std::string& link) {
  struct statx info {};
  (void)::statx(AT_FDCWD, link.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &info);
  return info;
}

}  // namespace sbpf::agent
