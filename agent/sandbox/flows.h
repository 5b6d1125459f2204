// SPDX-License-Identifier: Apache-2.0
// The TCP and UDP sockets that a sandbox has, against a policy that came over it: what it forbids is reported, or ended.
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

struct Flow {
  bool tcp = true;
  bool listens = false;
  policy::Address local{}, remote{};
  std::uint16_t local_port = 0, remote_port = 0;  // remote 0: not connected
  std::optional<ProxiedConnection> proxied = std::nullopt;  // a rule led it to who is the remote
};

// What the policy would not have let the sandbox do with this socket: "tcp connection to 1.2.3.4:443"; empty if nothing.
// An unconnected UDP socket is allowed: each send is judged. It goes on receiving (docs/THREATS.md).
std::string forbidden_part(const Flow& flow, const policy::Image& image);

// Ends every TCP socket and every connected UDP socket that the policy forbids: of the cgroup and those below it, and of `inodes` (sockfs) whoever
// made them, in each network namespace that a process of the cgroup is in, and in the host's. Whoever holds one gets ECONNABORTED. Returns what
// was ended, as forbidden_part() says it; nothing under a policy that only audits.
// Errors: "flows" with errno; EOPNOTSUPP: the kernel was built without CONFIG_INET_DIAG_DESTROY.
Result<std::vector<std::string>> cut_flows(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image,
                                           const std::set<std::uint64_t>& inodes = {});

// Those of them that the cgroup made and a process outside holds (a service manager's file descriptor store), in the same words.
// `held_inside`: inodes of what its own processes hold. Errors: "flows" with errno.
Result<std::vector<std::string>> flows_held_outside(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image,
                                                    const std::set<std::uint64_t>& held_inside);

}  // namespace sbpf::agent
