// SPDX-License-Identifier: Apache-2.0
// What is mounted, as /proc/PID/mountinfo says (proc(5)).
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace sbpf {

struct Mount {
  std::uint32_t id = 0, parent = 0;
  std::string device;  // "MAJOR:MINOR"
  std::string root;    // the directory of the filesystem that is mounted
  std::string point;   // where, as the process sees it
  std::string type;
  std::string source = {};  // a device, or what whoever mounted it wrote there
};

namespace mountinfo {

inline bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Space, tab, newline and backslash are written as three octal digits.
inline std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Cuts off what stands before the next separator.
inline std::string_view next(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

inline bool read_number(std::string_view text, std::uint32_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

}  // namespace mountinfo

// In the order of the file: of mounts at one place the last covers the others. Lines that are not whole are left out.
inline std::vector<Mount> parse_mounts(const std::string& mountinfo) {
  std::vector<Mount> mounts;
  for (std::string_view text = mountinfo; !text.empty();) {
    std::string_view line = mountinfo::next(text, '\n');
    Mount mount;
    if (!mountinfo::read_number(mountinfo::next(line, ' '), mount.id) ||
        !mountinfo::read_number(mountinfo::next(line, ' '), mount.parent))
      continue;
    mount.device = mountinfo::next(line, ' ');
    mount.root = mountinfo::unescape(mountinfo::next(line, ' '));
    mount.point = mountinfo::unescape(mountinfo::next(line, ' '));
    while (!line.empty() && mountinfo::next(line, ' ') != "-") {  // options, and as many optional fields as there are
    }
    mount.type = mountinfo::next(line, ' ');
    mount.source = mountinfo::unescape(mountinfo::next(line, ' '));
    if (!mount.type.empty()) mounts.push_back(std::move(mount));
  }
  return mounts;
}

// Of the calling thread; empty if /proc cannot be read.
inline std::vector<Mount> own_mounts() { return parse_mounts(read_file("/proc/thread-self/mountinfo")); }

}  // namespace sbpf
