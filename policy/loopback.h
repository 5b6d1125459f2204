// SPDX-License-Identifier: Apache-2.0
// A loopback of the sandbox's own (network.loopback: private): what is relayed into it.
#pragma once

#include <vector>

#include "policy/policy.h"

namespace sbpf::policy {

// At most so many endpoints are relayed, each by a socket that listens.
inline constexpr std::size_t kMaxRelayed = 64;

// An endpoint that is reached in the sandbox's own network by the same address and port: one of the host's loopback;
// or, where the address is the wildcard of its family, this port of every address that the policy allows beyond it.
struct RelayedEndpoint {
  Address address{};
  std::uint16_t port = 0;  // host byte order
  bool tcp = false;        // else UDP
  auto operator<=>(const RelayedEndpoint&) const = default;
};

// Does it stand for every address beyond loopback?
bool is_beyond_loopback(const RelayedEndpoint& relayed);

// What network.connect lists, but for what network.bind lists as well: that is a server of the sandbox's own. Sorted,
// each once. Precondition: the policy was parsed, with a private loopback.
std::vector<RelayedEndpoint> relayed_endpoints(const Network& network);

// Tells one list of relayed endpoints from others; 0: nothing is relayed, or the loopback is the host's.
std::uint64_t relayed_id(const Network& network);

namespace internal {

struct Draft;
// Reports what a policy with a private loopback lists and cannot be reached from there.
void check_loopback(const Draft& draft, std::vector<Diagnostic>& diagnostics);

}  // namespace internal
}  // namespace sbpf::policy
