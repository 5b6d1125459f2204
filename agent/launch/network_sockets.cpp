// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/network_sockets.h"

#include "agent/launch/relay_process.h"
#include "policy/loopback.h"

namespace sbpf::agent {
namespace {

Result<NetworkSockets> with_queries(NetworkSockets sockets, const policy::Network& network, bool own) {
  if (network.hosts.empty()) return sockets;
  auto queries = listen_for_queries(own);
  if (!queries) return tl::unexpected<Error>(queries.error());
  sockets.queries = std::move(*queries);
  return sockets;
}

}  // namespace

Result<NetworkSockets> listen_in_the_hosts(const policy::Network& network) { return with_queries({}, network, false); }

Result<NetworkSockets> listen_in_its_own(const policy::Network& network, bool has_ipv6) {
  NetworkSockets sockets;
  auto relayed = listen_for(policy::relayed_endpoints(network), has_ipv6);
  if (!relayed) return tl::unexpected<Error>(relayed.error());
  sockets.relayed = std::move(*relayed);
  return with_queries(std::move(sockets), network, true);
}

}  // namespace sbpf::agent
