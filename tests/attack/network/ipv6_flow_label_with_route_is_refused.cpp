// SPDX-License-Identifier: Apache-2.0
// A flow label whose options route whatever bears it: the packet goes to the hop, not to the address of sendto.
#include <linux/in6.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv6_flow_label_with_route_is_refused, {.victim = Victim::wire6,
                                               .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                               .at = "setsockopt",
                                               .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const std::uint32_t label = lease_routing_label(fd, kWire6);
  set_option(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1);
  send_text_to(fd, ctx.token, labelled(v6("::1", ctx.decoy), label));
}
