// SPDX-License-Identifier: Apache-2.0
// The same, by ancillary data: it needs no option that switches labels on.
#include <linux/in6.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_flow_label_in_ancillary_data_is_refused, {.victim = Victim::wire6,
                                                         .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                                         .at = "sendmsg",
                                                         .launch = Launch::attach,
                                                         .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const std::uint32_t label = lease_routing_label(fd, kWire6);
  ctx.join();
  send_message(fd, ctx.token, v6("::1", ctx.decoy), IPPROTO_IPV6, IPV6_FLOWINFO,
               std::string(reinterpret_cast<const char*>(&label), sizeof(label)));
}
