// SPDX-License-Identifier: Apache-2.0
// A connected UDP socket still sends to any address that is named.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_sendto_past_connection_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  connect_to(fd, v4("127.0.0.1", ctx.decoy), "connect decoy");
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
