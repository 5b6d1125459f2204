// SPDX-License-Identifier: Apache-2.0
// 0.0.0.0 as a destination means this host.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_any_address_sendto_is_refused, {.victim = Victim::udp4,
                                            .allow = "connect: [{address: 0.0.0.0, ports: [{port}], protocol: udp}]",
                                            .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  send_text_to(fd, ctx.token, v4("0.0.0.0", ctx.port));
}
