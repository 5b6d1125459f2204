// SPDX-License-Identifier: Apache-2.0
// A broadcast reaches every socket on the port.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(broadcast_sendto_is_refused, {.victim = Victim::udp_any,
                                     .allow = "connect: [{address: 127.255.255.255, ports: [{port}], protocol: udp}]",
                                     .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, SOL_SOCKET, SO_BROADCAST, 1);
  send_text_to(fd, ctx.token, v4("127.255.255.255", ctx.port));
}
