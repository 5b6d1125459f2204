// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a program, link or map behind a descriptor.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/result.h"

namespace sbpf::agent {

// Errors of all: "bpf_info" with errno.
// `map_ids`, if given, has room for as many ids as its size and is shrunk to those used.
Result<bpf_prog_info> program_info(int fd, std::vector<std::uint32_t>* map_ids = nullptr);
Result<bpf_link_info> link_info(int fd);
Result<bpf_map_info> map_info(int fd);

// The records that an iterator program writes, of what `about` names, or of everything. Errors: `code` with errno; `asked`
// says in the message what the kernel was asked for.
Result<std::vector<char>> read_iterator(int program, bpf_iter_link_info* about, const char* code, const char* asked);

template <typename Record>
Result<std::vector<Record>> read_records(int program, bpf_iter_link_info* about, const char* code, const char* asked) {
  auto bytes = read_iterator(program, about, code, asked);
  if (!bytes) return tl::unexpected<Error>(bytes.error());
  std::vector<Record> records(bytes->size() / sizeof(Record));
  if (!records.empty()) std::memcpy(records.data(), bytes->data(), records.size() * sizeof(Record));
  return records;
}

std::string tag_text(const std::uint8_t (&tag)[8]);

}  // namespace sbpf::agent
