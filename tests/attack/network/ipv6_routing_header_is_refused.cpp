// SPDX-License-Identifier: Apache-2.0
// IPV6_RTHDR with a segment routing header: the packet goes to the segment, not to the address of sendto.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv6_routing_header_is_refused,
       {.victim = Victim::wire6, .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]", .at = "setsockopt"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const std::string route = segment_route(kWire6, "::1");
  set_option(fd, IPPROTO_IPV6, IPV6_RTHDR, route.data(), route.size());
  send_text_to(fd, ctx.token, v6("::1", ctx.decoy));
}
