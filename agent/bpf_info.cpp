// SPDX-License-Identifier: Apache-2.0
#include "agent/bpf_info.h"

#include <bpf/bpf.h>

#include <array>
#include <cstdio>
#include <cstring>

namespace sbpf::agent {
namespace {

template <typename Info>
Result<Info> read_info(int fd, Info info, const char* what) {
  std::uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
    return fail("bpf_info", std::string(what) + " cannot be read back: " + std::strerror(errno), "", errno);
  return info;
}

}  // namespace

Result<bpf_prog_info> program_info(int fd, std::vector<std::uint32_t>* map_ids) {
  bpf_prog_info info{};
  if (map_ids) {
    info.nr_map_ids = static_cast<std::uint32_t>(map_ids->size());
    info.map_ids = reinterpret_cast<std::uint64_t>(map_ids->data());
  }
  auto result = read_info(fd, info, "program");
  if (result && map_ids && result->nr_map_ids < map_ids->size()) map_ids->resize(result->nr_map_ids);
  return result;
}

Result<bpf_link_info> link_info(int fd) { return read_info(fd, bpf_link_info{}, "link"); }

Result<bpf_map_info> map_info(int fd) { return read_info(fd, bpf_map_info{}, "map"); }

std::string tag_text(const std::uint8_t (&tag)[8]) {
  std::string text;
  for (std::uint8_t byte : tag) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", byte);
    text += hex.data();
  }
  return text;
}

}  // namespace sbpf::agent
