// SPDX-License-Identifier: Apache-2.0
// Files of the kernel's own file systems that a task had open before a policy came over it: those that drive the
// kernel, and files in /proc of processes. The rules are those of the hooks file_open and file_receive.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mounts.h"

namespace sbpf::agent {

// The first name of a path below the root of /proc where it leads to a file of a process; "" where it does not
// (/proc/N/net/tcp is the network's). Pure.
std::string owner_in_proc(const std::string& path);

// Does a file system of this type keep files, if it is on no block device? Others of that kind are the kernel's own
// interfaces, also those that no list knows (bpf/control.h, keeps_files). Pure.
bool keeps_files(std::string_view type);

class KernelFiles {
 public:
  // `inside`: the processes of the cgroup, which do not run meanwhile.
  KernelFiles(pid_t task, const std::set<pid_t>& inside);

  // The reason why the task may not have it: "a cgroup file open for writing"; "": it may. `link` in /proc/PID/fd leads
  // to `target`, and the text of fdinfo goes with it. The process of a file of /proc is found by following its path: a
  // number means another process in each mount. A process that cannot be told counts as outside.
  std::string forbidden(const std::string& link, const std::string& target, const std::string& fdinfo, bool writes);

 private:
  using Identity = std::pair<std::string, std::string>;  // a PID namespace, and the process's number there

  // The mount, and before what its point stands in our own sight; nothing: neither the task nor we see it.
  std::optional<std::pair<Mount, std::string>> mount_of(long id);
  std::string forbidden_of_proc(const Mount& mount, const std::string& root, const std::string& link,
                                const std::string& target, bool writes);
  bool is_inside(const std::string& proc, const std::string& process);
  static std::optional<Identity> identity_of(const std::string& proc, const std::string& process);

  pid_t task_;
  std::string proc_;
  const std::set<pid_t>& inside_;
  std::optional<std::vector<Mount>> mounts_, own_mounts_;  // read when they are asked for
  std::optional<std::set<Identity>> identities_;
};

}  // namespace sbpf::agent
