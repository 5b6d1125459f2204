// SPDX-License-Identifier: Apache-2.0
// What is mounted, as /proc/PID/mountinfo says (proc(5)).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sbpf::agent {

struct Mount {
  std::uint32_t id = 0, parent = 0;
  std::string device;  // "MAJOR:MINOR"
  std::string root;    // the directory of the filesystem that is mounted
  std::string point;   // where, as the process sees it
  std::string type;
};

// In the order of the file: of mounts at one place the last covers the others. Lines that are not whole are left out.
std::vector<Mount> parse_mounts(const std::string& mountinfo);

// Of the calling thread; empty if /proc cannot be read.
std::vector<Mount> own_mounts();

}  // namespace sbpf::agent
