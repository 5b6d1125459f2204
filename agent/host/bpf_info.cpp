// SPDX-License-Identifier: Apache-2.0
#include "agent/host/bpf_info.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <fmt/core.h>
#include <array>
#include <cerrno>
#include <cstring>

#include "policy/policy.h"

namespace sbpf::agent {
namespace {

template <typename Info>
Result<Info> read_info(int fd, Info info, const char* what) {
  std::uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
    return fail("bpf_info", SystemError{errno}, "{} cannot be read back", what);
  return info;
}

tl::unexpected<Error> cannot_ask(ErrorCode code, const char* asked, const char* what) {
  return fail(code, SystemError{errno, "end the sandboxes and run `sbpf unload`, then start again"},
              "cannot ask the kernel for {}: {}", asked, what);
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

Result<Fd> make_iterator(int program, bpf_iter_link_info* about, ErrorCode code, const char* asked) {
  LIBBPF_OPTS(bpf_link_create_opts, options);
  if (about) {
    options.iter_info = about;
    options.iter_info_len = sizeof *about;
  }
  Fd link(bpf_link_create(program, 0, BPF_TRACE_ITER, &options));
  if (!link) return cannot_ask(code, asked, "link");
  return link;
}

Result<std::vector<char>> read_iterator(const Fd& link, int program, ErrorCode code, const char* asked) {
  const Fd iterator(bpf_iter_create(link.get()));
  if (!iterator) return cannot_ask(code, asked, "iterator");
  std::vector<char> bytes;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t n = ::read(iterator.get(), buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return cannot_ask(code, asked, "read");
    if (n == 0) break;
    bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + n);
  }
  const auto runs = link_info(link.get());
  const auto own = program_info(program);
  if (!runs || !own) return tl::unexpected<Error>(runs ? own.error() : runs.error());
  if (runs->prog_id == own->id) return bytes;
  return fail(code, fmt::format("cannot ask the kernel for {}: another program was put into its link", asked));
}

std::string tag_text(const std::uint8_t (&tag)[8]) { return policy::hex(tag); }

}  // namespace sbpf::agent
