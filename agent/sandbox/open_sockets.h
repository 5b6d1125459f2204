// SPDX-License-Identifier: Apache-2.0
// Sockets and network devices that a task had open before a policy came over it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "policy/image.h"

namespace sbpf::agent {

// Objects of the tasks that the policy forbids, each "pid 12: …".
struct OpenBefore {
  std::vector<std::string> flows;   // which can be ended
  std::vector<std::string> others;  // which cannot
  std::set<std::uint64_t> sockets;  // inodes of all that they hold
  bool empty() const { return flows.empty() && others.empty(); }
};

// The tasks of a process that have descriptors of their own: itself, and each thread that does not share its table.
std::vector<pid_t> tasks_with_descriptors(pid_t pid);

// Looks at the sockets of a task, whatever their family and network namespace; at devices that are a network (tun, tap,
// vhost, ppp); at those of the whole machine (disks, consoles, memory, the kernel's log), open or mapped; at
// descriptors that are on their way in an AF_UNIX socket or registered with an io_uring; at files that are open for
// writing and drive the kernel; and at files in /proc of processes outside. An object that cannot be examined is one of
// `others`. `inside`: the processes of the cgroup, whose AF_UNIX servers and files in /proc are no outside. The journal
// as a service's output, and a pair of sockets as stdio, are allowed. All tasks must be frozen, or the answer is out of
// date.
void find_open_sockets(pid_t task, const policy::Image& image, const std::set<pid_t>& inside, OpenBefore& before);

}  // namespace sbpf::agent
