// SPDX-License-Identifier: Apache-2.0
// The kernel's information on a program, link or map behind a descriptor.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// Errors of all: "bpf_info" with errno.
// `map_ids`, if given, has room for as many ids as its size and is shrunk to those used.
Result<bpf_prog_info> program_info(int fd, std::vector<std::uint32_t>* map_ids = nullptr);
Result<bpf_link_info> link_info(int fd);
Result<bpf_map_info> map_info(int fd);

// A link of an iterator program, about what `about` names, or about everything. Making one waits for a mutex of the
// whole host, and so for any process that has it, however long that waits for a processor: a caller that asks again and
// again keeps the link. Errors of both: `code` with errno; `asked` says in the message what the kernel was asked for.
Result<Fd> make_iterator(int program, bpf_iter_link_info* about, ErrorCode code, const char* asked);
// The program's present output. An error, too, if the link runs another program by now.
Result<std::vector<char>> read_iterator(const Fd& link, int program, ErrorCode code, const char* asked);

// The records that it writes. `link` is made if there is none yet, and anew after an error.
template <typename Record>
Result<std::vector<Record>> read_records(Fd& link, int program, bpf_iter_link_info* about, ErrorCode code,
                                         const char* asked) {
  if (!link) {
    auto made = make_iterator(program, about, code, asked);
    if (!made) return tl::unexpected<Error>(made.error());
    link = std::move(*made);
  }
  auto bytes = read_iterator(link, program, code, asked);
  if (!bytes) {
    link.reset();
    return tl::unexpected<Error>(bytes.error());
  }
  std::vector<Record> records(bytes->size() / sizeof(Record));
  if (!records.empty()) std::memcpy(records.data(), bytes->data(), records.size() * sizeof(Record));
  return records;
}

template <typename Record>
Result<std::vector<Record>> read_records(int program, bpf_iter_link_info* about, ErrorCode code, const char* asked) {
  Fd link;
  return read_records<Record>(link, program, about, code, asked);
}

std::string tag_text(const std::uint8_t (&tag)[8]);

}  // namespace sbpf::agent
