// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/inodes.h"

#include <sys/stat.h>
#include <unistd.h>

#include "agent/host/bpf_info.h"

namespace sbpf::agent {

Result<std::map<int, policy::FsInode>> open_inodes(const Kernel& kernel) {
  bpf_iter_link_info task{};
  task.task.tid = static_cast<std::uint32_t>(::getpid());
  auto records = read_records<sbpf_open_inode>(kernel.query(Query::inodes), &task, "inodes", "the inodes of files");
  if (!records) return tl::unexpected<Error>(records.error());
  std::map<int, policy::FsInode> all;
  for (const sbpf_open_inode& open : *records)
    all[static_cast<int>(open.fd)] = {open.inode.ino, open.inode.dev, open.inode.generation, S_ISDIR(open.mode)};
  return all;
}

}  // namespace sbpf::agent
