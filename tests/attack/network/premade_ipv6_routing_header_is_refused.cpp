// SPDX-License-Identifier: Apache-2.0
// The same with an IPv6 routing header.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_ipv6_routing_header_is_refused, {.victim = Victim::wire6,
                                                .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                                .at = "sendto",
                                                .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const std::string route = segment_route(kWire6, "::1");
  set_option(fd, IPPROTO_IPV6, IPV6_RTHDR, route.data(), route.size());
  ctx.join();
  send_text_to(fd, ctx.token, v6("::1", ctx.decoy));
}
