// SPDX-License-Identifier: Apache-2.0
// Who is at the other end of a connection, and what that one may do.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/world.h"

namespace sbpf::service {

struct Peer {
  pid_t pid = 0;  // as this process sees it; 0 if it does not
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  std::vector<gid_t> groups;  // supplementary
};

// As they were when the peer called connect(2). Errors: "peer_unknown".
Result<Peer> peer_of(int connected_socket);

// Its cgroup now, below the root of the hierarchy: "/system.slice/x.service". Kernels before 6.5 give no pidfd of a
// peer, so a process that ended, and whose number another one got, is not told from that one. Errors: "peer_unknown".
Result<std::string> cgroup_of(pid_t pid);

// The root of the cgroup v2 hierarchy as mountinfo's text has it; "" if it is not mounted.
std::string cgroup_root(const std::string& mountinfo);

// The sandbox that holds the cgroup; "" if none does. `cgroup` as of cgroup_of(), the sandboxes' as paths below `root`.
// What lies below sbpf's own cgroup is a sandbox's, whether the watch has seen it or not.
std::string sandbox_of(const std::string& cgroup, const std::string& root,
                       const std::map<std::string, Json>& sandboxes);

enum class Wants { read, run, change };  // run: a sandbox of one's own, or to end it
// Errors: "not_permitted".
Result<void> may(const Peer& peer, Wants what, gid_t group);

}  // namespace sbpf::service
