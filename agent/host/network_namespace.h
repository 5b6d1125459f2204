// SPDX-License-Identifier: Apache-2.0
// Network namespaces, as the kernel tells them apart, and those that sbpf makes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "base/fd.h"
#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::agent {

// The cookie of the network namespace that the socket is in, which no other ever has (SO_NETNS_COOKIE). Errors:
// "network_namespace" with errno.
Result<std::uint64_t> network_cookie(const Fd& socket);

struct NetworkNamespace {
  Fd fd;                     // it lives as long as this is open, or a process or socket is in it
  std::uint64_t cookie = 0;  // network_cookie()
};

// Makes one in which nothing is but its loopback, which is up, and calls `inside` there: in a thread of its own, which
// ends with it. Errors: "network_namespace" with errno; those of `inside`.
Result<NetworkNamespace> make_network_namespace(const std::function<Result<void>()>& inside);

// In a namespace as above, this thread's: has every address lead to its loopback, so that a socket on the wildcard is
// reached by all of them, and sees by which. Programs see an address beside loopback there, and so take it for a
// network. Without `has_ipv6` no address of IPv6 leads there: who has another one in store must see at once that this
// one does not answer. Returns whether they do lead there. Errors: "network_namespace" with errno.
Result<bool> lead_all_to_loopback(bool has_ipv6);

// Does a route of this thread's network namespace lead to this address of IPv6?
bool reaches_ipv6(const policy::Address& address);

// Calls `inside` in the network namespace of a process, in a thread of its own, and gives that namespace's cookie. The
// process is this one's to hold: its number must not come to mean another. Errors: "network_namespace" with errno;
// those of `inside`.
Result<std::uint64_t> in_network_of(pid_t pid, const std::function<Result<void>()>& inside);

}  // namespace sbpf::agent
