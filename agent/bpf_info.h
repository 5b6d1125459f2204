// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a program, link or map behind a descriptor.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sbpf::agent {

// Errors of all: "bpf_info" with errno.
// `map_ids`, if given, has room for as many ids as its size and is shrunk to those used.
Result<bpf_prog_info> program_info(int fd, std::vector<std::uint32_t>* map_ids = nullptr);
Result<bpf_link_info> link_info(int fd);
Result<bpf_map_info> map_info(int fd);

std::string tag_text(const std::uint8_t (&tag)[8]);

}  // namespace sbpf::agent
