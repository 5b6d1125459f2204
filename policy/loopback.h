// SPDX-License-Identifier: Apache-2.0
// A loopback of the sandbox's own (network.loopback: private): what of the host's is relayed into it.
#pragma once

#include <vector>

#include "policy/policy.h"

namespace sbpf::policy {

// At most so many endpoints are relayed, each by a socket that listens.
inline constexpr std::size_t kMaxRelayed = 64;

// An endpoint of the host's loopback that is reached at the same address and port of the sandbox's own.
struct RelayedEndpoint {
  Address address{};
  std::uint16_t port = 0;  // host byte order
  bool tcp = false;        // else UDP
  auto operator<=>(const RelayedEndpoint&) const = default;
};

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
