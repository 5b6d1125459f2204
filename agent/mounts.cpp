// SPDX-License-Identifier: Apache-2.0
#include "agent/mounts.h"

#include <fstream>
#include <sstream>

namespace sbpf::agent {
namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Space, tab, newline and backslash are written as three octal digits.
std::string unescape(const std::string& text) {
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

}  // namespace

std::vector<Mount> parse_mounts(const std::string& mountinfo) {
  std::vector<Mount> mounts;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    Mount mount;
    std::istringstream fields(line);
    if (!(fields >> mount.id >> mount.parent >> mount.device >> mount.root >> mount.point)) continue;
    for (std::string field; fields >> field && field != "-";) {  // options, and as many optional fields as there are
    }
    if (!(fields >> mount.type)) continue;
    mount.root = unescape(mount.root);
    mount.point = unescape(mount.point);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<Mount> own_mounts() {
  std::ostringstream text;
  text << std::ifstream("/proc/thread-self/mountinfo").rdbuf();
  return parse_mounts(text.str());
}

}  // namespace sbpf::agent
