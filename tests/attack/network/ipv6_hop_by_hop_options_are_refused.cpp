// SPDX-License-Identifier: Apache-2.0
// Hop-by-hop options make every router look. The option itself is the proof.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv6_hop_by_hop_options_are_refused, {.at = "setsockopt", .root = true}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  set_option(fd, IPPROTO_IPV6, IPV6_HOPOPTS, "\0\0\1\4\0\0\0\0", 8);
}
