// SPDX-License-Identifier: Apache-2.0
// The sockets by which the helpers of a sandbox, resolver and relay, serve its network.
#pragma once

#include <optional>
#include <vector>

#include "agent/dns/resolver_process.h"
#include "agent/launch/relay.h"
#include "policy/policy.h"

namespace sbpf::agent {

struct NetworkSockets {
  std::optional<ResolverSockets> queries;  // there are host names
  std::vector<RelaySocket> relayed;        // into a network of its own; empty: nothing is
};

// Makes them in this thread's network namespace. Errors: those of listen_for_queries().
Result<NetworkSockets> listen_in_the_hosts(const policy::Network& network);

// The same in one that was made for this sandbox, with what listens to relay. `has_ipv6`: reaches_ipv6(), of the
// host's. Errors: those of listen_for_queries() and listen_for().
Result<NetworkSockets> listen_in_its_own(const policy::Network& network, bool has_ipv6);

}  // namespace sbpf::agent
