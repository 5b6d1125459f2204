// SPDX-License-Identifier: Apache-2.0
// fdinfo_number(): what /proc says of a descriptor.
#pragma once

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

}  // namespace sbpf::agent
