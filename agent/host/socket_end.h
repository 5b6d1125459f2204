// SPDX-License-Identifier: Apache-2.0
// One end of an IPv4 or IPv6 socket, as rules have it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "policy/policy.h"

namespace sbpf::agent {

struct SocketEnd {
  policy::Address address{};
  std::uint16_t port = 0;
};

// Of what getsockname(2) and getpeername(2) fill in; nothing: it is of another family.
inline std::optional<SocketEnd> socket_end(const sockaddr_storage& from) {
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
  if (from.ss_family == AF_INET) return SocketEnd{policy::address_from(&v4.sin_addr, sizeof v4.sin_addr), ntohs(v4.sin_port)};
  if (from.ss_family == AF_INET6) return SocketEnd{policy::address_from(&v6.sin6_addr, sizeof v6.sin6_addr), ntohs(v6.sin6_port)};
  return std::nullopt;
}

}  // namespace sbpf::agent
