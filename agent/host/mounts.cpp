// SPDX-License-Identifier: Apache-2.0
#include "agent/host/mounts.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/file.h"

namespace sbpf::agent {
namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Space, tab, newline and backslash are written as three octal digits.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) && is_octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Cuts off what stands before the next separator.
std::string_view next(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

bool read_number(std::string_view text, std::uint32_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

}  // namespace

std::vector<Mount> parse_mounts(const std::string& mountinfo) {
  std::vector<Mount> mounts;
  for (std::string_view text = mountinfo; !text.empty();) {
    std::string_view line = next(text, '\n');
    Mount mount;
    if (!read_number(next(line, ' '), mount.id) || !read_number(next(line, ' '), mount.parent)) continue;
    mount.device = next(line, ' ');
    mount.root = unescape(next(line, ' '));
    mount.point = unescape(next(line, ' '));
    while (!line.empty() && next(line, ' ') != "-") {  // options, and as many optional fields as there are
    }
    mount.type = next(line, ' ');
    if (!mount.type.empty()) mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<Mount> own_mounts() { return parse_mounts(read_file("/proc/thread-self/mountinfo")); }

}  // namespace sbpf::agent
