// SPDX-License-Identifier: Apache-2.0
// A flow label whose options route whatever bears it: the packet goes to the hop, not to the address of sendto.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv6_flow_label_with_route_is_refused, {.victim = Victim::wire6,
                                               .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                               .at = "setsockopt",
                                               .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const Address to = loopback_by_way_of(fd, kWire6, ctx.decoy);
  send_text_to(fd, ctx.token, to);
}
