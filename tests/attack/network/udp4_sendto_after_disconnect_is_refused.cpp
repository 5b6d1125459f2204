// SPDX-License-Identifier: Apache-2.0
// connect(AF_UNSPEC) after an allowed connect, then a named address.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_sendto_after_disconnect_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  connect_to(fd, v4("127.0.0.1", ctx.decoy), "connect decoy");
  connect_to(fd, unspec(), "disconnect");
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
