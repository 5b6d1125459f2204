// SPDX-License-Identifier: Apache-2.0
// :: as a destination means ::1.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp6_any_address_sendto_is_refused, {.victim = Victim::udp6,
                                            .allow = "connect: [{address: \"::\", ports: [{port}], protocol: udp}]",
                                            .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  send_text_to(fd, ctx.token, v6("::", ctx.port));
}
