// SPDX-License-Identifier: Apache-2.0
// The same, by the address of connect: the route is kept with the connection.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_flow_label_connect_is_refused, {.victim = Victim::wire6,
                                               .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                               .at = "connect",
                                               .launch = Launch::attach,
                                               .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const Address to = loopback_by_way_of(fd, kWire6, ctx.decoy);
  ctx.join();
  connect_to(fd, to);
  send_text(fd, ctx.token);
}
