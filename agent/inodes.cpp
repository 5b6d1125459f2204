// SPDX-License-Identifier: Apache-2.0
#include "agent/inodes.h"

#include <bpf/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sbpf::agent {

Result<std::map<int, policy::FsInode>> open_inodes(const Kernel& kernel) {
  const auto error = [](const char* what) {
    return fail("inodes", std::string("cannot ask the kernel for the inodes of files: ") + what + ": " +
                              std::strerror(errno),
                "end the sandboxes and run `sbpf unload`, then start again", errno);
  };
  bpf_iter_link_info task{};
  task.task.tid = static_cast<std::uint32_t>(::getpid());
  LIBBPF_OPTS(bpf_link_create_opts, options, .iter_info = &task, .iter_info_len = sizeof task);
  Fd link(bpf_link_create(kernel.inodes(), 0, BPF_TRACE_ITER, &options));
  if (!link) return error("link");
  Fd iterator(bpf_iter_create(link.get()));
  if (!iterator) return error("iterator");
  std::map<int, policy::FsInode> all;
  std::array<sbpf_open_inode, 128> records{};
  std::size_t have = 0;  // bytes; a read may end within a record
  while (true) {
    auto* bytes = reinterpret_cast<char*>(records.data());
    const ssize_t n = ::read(iterator.get(), bytes + have, sizeof records - have);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return error("read");
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
    const std::size_t whole = have / sizeof(sbpf_open_inode);
    for (std::size_t i = 0; i < whole; i++)
      all[static_cast<int>(records[i].fd)] = {records[i].inode.ino, records[i].inode.dev,
                                                records[i].inode.generation, S_ISDIR(records[i].mode)};
    have -= whole * sizeof(sbpf_open_inode);
    std::memmove(bytes, bytes + whole * sizeof(sbpf_open_inode), have);
  }
  return all;
}

}  // namespace sbpf::agent
