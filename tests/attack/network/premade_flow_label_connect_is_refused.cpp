// SPDX-License-Identifier: Apache-2.0
// The same, by the address of connect: the route is kept with the connection.
#include <linux/in6.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_flow_label_connect_is_refused, {.victim = Victim::wire6,
                                               .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                               .at = "connect",
                                               .launch = Launch::attach,
                                               .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const std::uint32_t label = lease_routing_label(fd, kWire6);
  set_option(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1);
  ctx.join();
  connect_to(fd, labelled(v6("::1", ctx.decoy), label));
  send_text(fd, ctx.token);
}
