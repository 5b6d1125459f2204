// SPDX-License-Identifier: Apache-2.0
// A flow label that was leased, and switched on, before the socket came under a policy.
#include <linux/in6.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_flow_label_sendto_is_refused, {.victim = Victim::wire6,
                                              .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                              .at = "sendto",
                                              .launch = Launch::attach,
                                              .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const std::uint32_t label = lease_routing_label(fd, kWire6);
  set_option(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1);
  ctx.join();
  send_text_to(fd, ctx.token, labelled(v6("::1", ctx.decoy), label));
}
