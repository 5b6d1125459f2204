// SPDX-License-Identifier: Apache-2.0
// Proxies that entries of network.connect lead to.
#include <fmt/core.h>
#include <algorithm>

#include "policy/entry_text.h"
#include "policy/reader.h"
#include "policy/via.h"

namespace sbpf::policy::internal {
namespace {

bool both_cover_a_port(const Endpoint& a, const Endpoint& b) {
  if (a.protocol == Protocol::udp || b.protocol == Protocol::udp) return false;  // of TCP alone
  return std::any_of(a.ports.begin(), a.ports.end(), [&b](const PortRange& x) {
    return std::any_of(b.ports.begin(), b.ports.end(),
                       [&x](const PortRange& y) { return x.first <= y.last && y.first <= x.last; });
  });
}

}  // namespace

std::string via_problem(const Via& via) {
  if (is_wildcard(via.address)) return "the proxy has no address";
  if (via.address[0] == 0xff || (is_v4(via.address) && via.address[12] >= 224))
    return "the proxy's address is not a single host's";
  Endpoint proxy;
  proxy.address = via.address;
  return is_metadata(proxy) ? "the proxy would be where clouds keep a machine's credentials" : "";
}

void check_via(const std::vector<Endpoint>& connect, std::vector<Diagnostic>& diagnostics) {
  std::map<std::pair<Address, std::uint8_t>, std::vector<const Endpoint*>> places;
  for (const Endpoint& entry : connect) places[{entry.address, entry.prefix}].push_back(&entry);
  for (const auto& [place, entries] : places)
    for (const Endpoint* entry : entries) {
      const auto other = std::find_if(entries.begin(), entries.end(), [entry](const Endpoint* before) {
        return before->via != entry->via && both_cover_a_port(*before, *entry);
      });
      if (other == entries.end() || *other > entry) continue;  // told once, at the later one
      report(diagnostics, Diagnostic{entry->where, "ambiguous_via", "network.connect",
                                     fmt::format("{} and {} have ports in common, but lead to different places",
                                                 entry_text(*entry), located((*other)->where, entry_text(**other))),
                                     "give each port to one of them; a longer prefix comes before a shorter one"});
    }
}

}  // namespace sbpf::policy::internal
