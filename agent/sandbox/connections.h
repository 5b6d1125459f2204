// SPDX-License-Identifier: Apache-2.0
// The TCP and UDP sockets of a sandbox, compared with a new policy: forbidden ones are reported, or ended.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/host/cgroup.h"
#include "agent/sandbox/proxied.h"
#include "policy/image.h"

namespace sbpf::agent {

struct Connection {
  bool tcp = true;
  bool listens = false;
  policy::Address local{}, remote{};
  std::uint16_t local_port = 0, remote_port = 0;  // remote 0: not connected
  bool in_own_netns = false;                      // as policy::NetQuery's
  bool by_relay = false;                          // a relay made it, for what the sandbox connected to the remote
  std::optional<ProxiedConnection> proxied =
      std::nullopt;  // set if a rule sent it to a proxy, which is then the remote
};

// The use of this socket that the policy forbids: "tcp connection to 1.2.3.4:443"; empty if there is none. An
// unconnected UDP socket is allowed, because each send is judged. It still receives (docs/THREATS.md).
std::string forbidden_part(const Connection& flow, const policy::Image& image);

// Ends every TCP socket and every connected UDP socket that the policy forbids: of the cgroup and those below it, and
// of `inodes` (sockfs) whoever made them, in each network namespace that a process of the cgroup is in, and in the
// host's; and of its relay, what that still passes on, or has not accepted yet. A process that has one of them open
// gets ECONNABORTED. Returns the ended sockets, as forbidden_part() describes them; nothing under a policy that only
// audits. Errors: "flows" with errno; EOPNOTSUPP: the kernel was built without CONFIG_INET_DIAG_DESTROY.
Result<std::vector<std::string>> cut_connections(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image,
                                                 const std::set<std::uint64_t>& inodes = {});

// Those of them that the cgroup made and a process outside holds (a service manager's file descriptor store), in the
// same words. `held_inside`: inodes of what its own processes hold. Errors: "flows" with errno.
Result<std::vector<std::string>> connections_held_outside(const Kernel& kernel, const Cgroup& cgroup,
                                                          const policy::Image& image,
                                                          const std::set<std::uint64_t>& held_inside);

}  // namespace sbpf::agent
