// SPDX-License-Identifier: Apache-2.0
// One end of an IPv4 or IPv6 socket, as rules have it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
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
  if (from.ss_family == AF_INET)
    return SocketEnd{policy::address_from(&v4.sin_addr, sizeof v4.sin_addr), ntohs(v4.sin_port)};
  if (from.ss_family == AF_INET6)
    return SocketEnd{policy::address_from(&v6.sin6_addr, sizeof v6.sin6_addr), ntohs(v6.sin6_port)};
  return std::nullopt;
}

// Puts what bind(2) and connect(2) take into `into`, as IPv4 where the address is a mapped one; gives its size.
inline socklen_t sockaddr_of(const SocketEnd& end, sockaddr_storage& into) {
  constexpr std::size_t kBeforeV4 = 12;
  constexpr policy::Address kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  into = {};
  if (std::equal(kMapped.begin(), kMapped.begin() + kBeforeV4, end.address.begin())) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(into);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(end.port);
    std::memcpy(&v4.sin_addr, end.address.data() + kBeforeV4, sizeof v4.sin_addr);
    return sizeof v4;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(into);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(end.port);
  std::memcpy(&v6.sin6_addr, end.address.data(), sizeof v6.sin6_addr);
  return sizeof v6;
}

}  // namespace sbpf::agent
