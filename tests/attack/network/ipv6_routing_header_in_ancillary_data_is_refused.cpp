// SPDX-License-Identifier: Apache-2.0
// The routing header of mobile IPv6 in sendmsg.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv6_routing_header_in_ancillary_data_is_refused, {.victim = Victim::wire6,
                                                          .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                                          .at = "sendmsg",
                                                          .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  send_message(fd, ctx.token, v6("::1", ctx.decoy), IPPROTO_IPV6, IPV6_RTHDR, home_route(kWire6));
}
