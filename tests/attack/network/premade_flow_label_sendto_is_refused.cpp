// SPDX-License-Identifier: Apache-2.0
// A flow label that was leased, and switched on, before the socket came under a policy.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_flow_label_sendto_is_refused, {.victim = Victim::wire6,
                                              .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                              .at = "sendto",
                                              .launch = Launch::attach,
                                              .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const Address to = loopback_by_way_of(fd, kWire6, ctx.decoy);
  ctx.join();
  send_text_to(fd, ctx.token, to);
}
