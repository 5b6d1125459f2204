// SPDX-License-Identifier: Apache-2.0
// Connections that a rule has sent to a proxy (`via`), and their original destinations.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/kernel/kernel.h"
#include "policy/policy.h"

namespace sbpf::agent {

struct ProxiedConnection {
  std::uint64_t cookie = 0;     // the socket's, as sock_diag(7) names it; 0: it was never asked for
  std::uint64_t cgroup_id = 0;  // of the sandbox whose rule sent it
  std::uint32_t netns = 0;      // inode of its network namespace
  policy::Address client{};     // its own address, which the proxy sees
  std::uint16_t client_port = 0;
  policy::Address address{};  // the original destination
  std::uint16_t port = 0;
  policy::Via proxy;  // the proxy that it was sent to
};

// All of the host that are connected now. Errors: "origins" with errno.
Result<std::vector<ProxiedConnection>> proxied_connections(const Kernel& kernel);

struct Origin {
  policy::Address address{};  // the original destination
  std::uint16_t port = 0;
  policy::Via proxy;    // the proxy that a rule sent it to
  std::string sandbox;  // empty if it has ended
};

// Answers a proxy about a connection that `via` sent to it, by its client's address and port, as accept(2) names them.
// Errors: "not_loaded", "no_such_connection".
Result<Origin> origin_of(const policy::Address& client, std::uint16_t port);

}  // namespace sbpf::agent
