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

bool covers(const Endpoint& entry, const RelayedEndpoint& relayed) {
  NetQuery query{SBPF_RULE_CONNECT, relayed.tcp ? SBPF_PROTO_TCP : SBPF_PROTO_UDP, relayed.address, relayed.port};
  if (policy::covers(entry, query)) return true;
  // A server on the wildcard is one on loopback, too.
  if (entry.prefix != kWholeAddress || !is_wildcard(entry.address)) return false;
  query.address = entry.address;
  return policy::covers(entry, query);
}

// Those of one entry. No more are added than can be relayed, and one.
void add_relayed(const Network& network, const Endpoint& entry, std::set<RelayedEndpoint>& all) {
  for (const PortRange& range : entry.ports)
    for (std::uint32_t port = range.first; port <= range.last && all.size() <= kMaxRelayed; ++port)
      for (const bool tcp : {false, true}) {
        const RelayedEndpoint relayed{entry.address, static_cast<std::uint16_t>(port), tcp};
        const auto has = [&](const Endpoint& listed) { return covers(listed, relayed); };
        if (has(entry) && std::ranges::none_of(network.bind, has)) all.insert(relayed);
      }
}

}  // namespace

std::vector<RelayedEndpoint> relayed_endpoints(const Network& network) {
  std::set<RelayedEndpoint> all;
  for (const Endpoint& entry : network.connect) add_relayed(network, entry, all);
  return {all.begin(), all.end()};
}

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
    "reach it by a proxy on the host's loopback, or write network: {loopback: host}, which has the sandbox share the "
    "host's network";

}  // namespace

void check_loopback(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  const Network& network = draft.policy.network;
  if (network.loopback != Loopback::private_namespace) return;
  const auto unreachable = [&](const Location& where, const std::string& what, const std::string& why) {
    report(diagnostics,
           Diagnostic{where, "unreachable", "network.loopback",
                      fmt::format("a sandbox with a private loopback cannot reach {}: {}", what, why), kOtherwise});
  };
  const char* const alone = "its network has nothing but that loopback";
  if (network.dangerously_allow_all)
    unreachable(draft.written.at("network.dangerously_allow_all"), "everything (dangerously_allow_all)", alone);
  for (const HostRule& rule : network.hosts) unreachable(rule.where, entry_text(rule), alone);
  std::set<RelayedEndpoint> all;
  for (const Endpoint& entry : network.connect) {
    if (leads_to_loopback(entry) && (entry.prefix != kWholeAddress || !is_loopback(entry.address)))
      unreachable(entry.where, entry_text(entry), "of the host's loopback it gets single addresses, 127.0.0.1 for one");
    else if (!is_loopback(entry.address))
      unreachable(entry.where, entry_text(entry), alone);
    else if (entry.via)
      unreachable(entry.where, entry_text(entry), "of the host's loopback it gets the endpoint itself, and no proxy");
    else if (const auto before = all.size(); before <= kMaxRelayed) {
      add_relayed(network, entry, all);
      if (all.size() > kMaxRelayed)
        unreachable(
            entry.where, entry_text(entry),
            fmt::format("of the host's loopback at most {} endpoints are relayed, each port being one", kMaxRelayed));
    }
  }
  for (const auto& [peer, rule] : draft.unix_peers)
    if (rule.abstract()) unreachable(rule.where, fmt::format("the abstract socket {}", shown(peer)), alone);
}

}  // namespace internal
}  // namespace sbpf::policy
