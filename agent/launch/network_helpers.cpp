// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/network_helpers.h"

#include <algorithm>

#include "agent/host/network_namespace.h"
#include "policy/image.h"
#include "policy/loopback.h"

namespace sbpf::agent {
namespace {

Result<NetworkSockets> with_queries(NetworkSockets sockets, const policy::Network& network, bool own) {
  if (network.hosts.empty()) return sockets;
  auto queries = listen_for_queries(own ? &network : nullptr);
  if (!queries) return tl::unexpected<Error>(queries.error());
  sockets.queries = std::move(*queries);
  return sockets;
}

}  // namespace

bool wants_own_network(const policy::Policy& policy) {
  return policy.network.loopback == policy::Loopback::private_namespace && policy.mode != policy::Mode::audit;
}

Result<NetworkSockets> listen_in_the_hosts(const policy::Network& network) { return with_queries({}, network, false); }

bool reaches_any_ipv6(const policy::Network& network) {
  constexpr policy::Address kSomewhere = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return reaches_ipv6(kSomewhere) || std::ranges::any_of(network.connect, [](const policy::Endpoint& entry) {
           return !policy::is_loopback(entry.address) && reaches_ipv6(entry.address);
         });
}

Result<NetworkSockets> listen_in_its_own(const policy::Network& network, bool has_ipv6) {
  NetworkSockets sockets;
  auto relayed = listen_for(policy::relayed_endpoints(network), has_ipv6);
  if (!relayed) return tl::unexpected<Error>(relayed.error());
  sockets.relayed = std::move(*relayed);
  return with_queries(std::move(sockets), network, true);
}

Result<NetworkHelpers> start_network_helpers(const policy::Policy& policy, const HelpedSandbox& sandbox,
                                             NetworkSockets sockets) {
  NetworkHelpers helpers;
  if (sockets.queries) {
    auto resolver =
        start_resolver(policy, sandbox.name, sandbox.cgroup_id, sandbox.host_names_id, std::move(*sockets.queries));
    if (!resolver) return tl::unexpected<Error>(resolver.error());
    helpers.resolver.emplace(std::move(*resolver));
  }
  if (sockets.relayed.empty()) return helpers;
  auto relay = start_relay(sandbox.name, sandbox.user, std::move(sockets.relayed));
  if (!relay) return tl::unexpected<Error>(relay.error());
  helpers.relay.emplace(std::move(*relay));
  return helpers;
}

}  // namespace sbpf::agent
