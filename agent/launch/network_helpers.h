// SPDX-License-Identifier: Apache-2.0
// What serves a sandbox's network from outside: the resolver of its host names, and the relay into a network of its
// own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/dns/resolver_process.h"
#include "agent/launch/relay_process.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Is a network of the sandbox's own to be made for this policy? An audit changes nothing, and so tells what the program
// uses of the host's.
bool wants_own_network(const policy::Policy& policy);

struct NetworkSockets {
  std::optional<ResolverSockets> queries;  // there are host names
  std::vector<RelaySocket> relayed;        // into a network of its own; empty: nothing is
};

// Makes them in this thread's network namespace. Errors: those of listen_for_queries().
Result<NetworkSockets> listen_in_the_hosts(const policy::Network& network);

// Does a route of this thread's network namespace lead to the internet of IPv6, or to an address of it that is listed?
bool reaches_any_ipv6(const policy::Network& network);

// The same in one that was made for this sandbox, with what listens to relay. `has_ipv6`: reaches_any_ipv6(), of the
// host's. Errors: those of listen_for_queries() and listen_for().
Result<NetworkSockets> listen_in_its_own(const policy::Network& network, bool has_ipv6);

struct NetworkHelpers {
  std::optional<ResolverProcess> resolver;
  std::optional<RelayProcess> relay;
};

// Of which sandbox they are.
struct HelpedSandbox {
  std::string name;
  std::uint64_t cgroup_id = 0;
  std::uint32_t host_names_id = 0;  // of its policy's image
  policy::User user;                // whose rights the relay has
};

// Starts those that the sockets are for, in this thread's network namespace. Errors: those of start_resolver() and
// start_relay().
Result<NetworkHelpers> start_network_helpers(const policy::Policy& policy, const HelpedSandbox& sandbox,
                                             NetworkSockets sockets);

}  // namespace sbpf::agent
