// SPDX-License-Identifier: Apache-2.0
#include "policy/loopback.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/sha256.h"
#include "policy/draft.h"
#include "policy/entry_text.h"
#include "policy/image.h"
#include "policy/values.h"

namespace sbpf::policy {
namespace {

constexpr std::uint8_t kWholeAddress = 128;
constexpr Address kAny4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}, kAny6 = {};

bool covers(const Endpoint& entry, const RelayedEndpoint& relayed) {
  NetQuery query{SBPF_RULE_CONNECT, relayed.tcp ? SBPF_PROTO_TCP : SBPF_PROTO_UDP, relayed.address, relayed.port};
  if (policy::covers(entry, query)) return true;
  // A server on the wildcard is one on loopback, too.
  if (entry.prefix != kWholeAddress || !is_wildcard(entry.address)) return false;
  query.address = entry.address;
  return policy::covers(entry, query);
}

bool is_of(Protocol protocol, bool tcp) { return protocol == Protocol::any || (protocol == Protocol::tcp) == tcp; }

// Calls `add` with the ports of an entry, of each of its protocols, until `all` has more than can be relayed.
template <typename Entry, typename Add>
void each_port(const Entry& entry, const std::set<RelayedEndpoint>& all, const Add& add) {
  for (const PortRange& range : entry.ports)
    for (std::uint32_t port = range.first; port <= range.last && all.size() <= kMaxRelayed; ++port)
      for (const bool tcp : {false, true})
        if (is_of(entry.protocol, tcp)) add(static_cast<std::uint16_t>(port), tcp);
}

// What is relayed for one entry. No more are added than can be relayed, and one.
void add_relayed(const Network&, const HostRule& rule, std::set<RelayedEndpoint>& all) {
  each_port(rule, all, [&](std::uint16_t port, bool tcp) {
    for (const Address& any : {kAny4, kAny6}) all.insert({any, port, tcp});
  });
}

void add_relayed(const Network& network, const Endpoint& entry, std::set<RelayedEndpoint>& all) {
  each_port(entry, all, [&](std::uint16_t port, bool tcp) {
    if (!is_loopback(entry.address)) {
      all.insert({internal::is_v4(entry.address) ? kAny4 : kAny6, port, tcp});
      return;
    }
    const RelayedEndpoint relayed{entry.address, port, tcp};
    const auto has = [&](const Endpoint& listed) { return covers(listed, relayed); };
    if (std::ranges::none_of(network.bind, has)) all.insert(relayed);
  });
}

}  // namespace

std::vector<RelayedEndpoint> relayed_endpoints(const Network& network) {
  std::set<RelayedEndpoint> all;
  for (const Endpoint& entry : network.connect) add_relayed(network, entry, all);
  for (const HostRule& rule : network.hosts) add_relayed(network, rule, all);
  return {all.begin(), all.end()};
}

bool is_beyond_loopback(const RelayedEndpoint& relayed) { return is_wildcard(relayed.address); }

std::uint64_t relayed_id(const Network& network) {
  if (network.loopback != Loopback::private_namespace) return 0;
  const std::vector<RelayedEndpoint> all = relayed_endpoints(network);
  if (all.empty()) return 0;
  Sha256 sum;
  for (const RelayedEndpoint& one : all) {
    const std::uint8_t rest[] = {static_cast<std::uint8_t>(one.port >> 8), static_cast<std::uint8_t>(one.port & 0xff),
                                 static_cast<std::uint8_t>(one.tcp)};
    sum.add(one.address.data(), one.address.size());
    sum.add(rest, sizeof rest);
  }
  std::uint64_t id = 0;
  std::memcpy(&id, sum.finish().data(), sizeof id);
  return id;
}

namespace internal {
namespace {

// As a whole: 127.0.0.0/8 and what is in it, ::1, and the addresses that the kernel takes for them.
bool leads_to_loopback(const Endpoint& entry) {
  constexpr std::uint8_t kLoopback4Bits = 96 + 8;
  if (is_wildcard(entry.address)) return entry.prefix == kWholeAddress;
  return is_loopback(entry.address) && entry.prefix >= kLoopback4Bits;
}

constexpr const char* kOtherwise =
    "list what the program needs of it, or write network: {loopback: host}, which has the sandbox share the host's "
    "network";

// May the sandbox's own servers use this port, whichever address they are bound to?
bool is_bound(const Network& network, const RelayedEndpoint& relayed) {
  return std::ranges::any_of(network.bind, [&](const Endpoint& own) {
    return is_of(own.protocol, relayed.tcp) && has_port(own.ports, relayed.port);
  });
}

}  // namespace

void check_loopback(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  const Network& network = draft.policy.network;
  if (network.loopback != Loopback::private_namespace) return;
  const auto unreachable = [&](const Location& where, const std::string& what, const std::string& why) {
    report(diagnostics,
           Diagnostic{where, "unreachable", "network.loopback",
                      fmt::format("a sandbox with a private loopback cannot reach {}: {}", what, why), kOtherwise});
  };
  if (network.dangerously_allow_all)
    unreachable(draft.written.at("network.dangerously_allow_all"), "everything (dangerously_allow_all)",
                "ports are relayed into its network one by one");
  std::set<RelayedEndpoint> all;
  const auto check = [&](const auto& entry) {
    if (entry.via) return unreachable(entry.where, entry_text(entry), "it gets the endpoint itself, and no proxy");
    const std::set<RelayedEndpoint> before = all;
    if (before.size() > kMaxRelayed) return;
    add_relayed(network, entry, all);
    if (all.size() > kMaxRelayed)
      return unreachable(entry.where, entry_text(entry),
                         fmt::format("at most {} ports are relayed into its network; tcp and udp count as two, and so "
                                     "do both families of the addresses of a name",
                                     kMaxRelayed));
    for (const RelayedEndpoint& one : all)
      if (is_beyond_loopback(one) && !before.contains(one) && is_bound(network, one))
        return unreachable(entry.where, entry_text(entry),
                           fmt::format("network.bind has port {} for servers of its own", one.port));
  };
  for (const HostRule& rule : network.hosts) check(rule);
  for (const Endpoint& entry : network.connect)
    if (leads_to_loopback(entry) && (entry.prefix != kWholeAddress || !is_loopback(entry.address)))
      unreachable(entry.where, entry_text(entry), "of the host's loopback it gets single addresses, 127.0.0.1 for one");
    else
      check(entry);
  for (const auto& [peer, rule] : draft.unix_peers)
    if (rule.abstract())
      unreachable(rule.where, fmt::format("the abstract socket {}", shown(peer)), "it belongs to the host's network");
}

}  // namespace internal
}  // namespace sbpf::policy
