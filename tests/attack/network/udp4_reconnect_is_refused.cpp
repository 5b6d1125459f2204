// SPDX-License-Identifier: Apache-2.0
// A UDP socket may be connected again and again.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_reconnect_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "reconnect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  connect_to(fd, v4("127.0.0.1", ctx.decoy), "connect decoy");
  connect_to(fd, v4("127.0.0.1", ctx.port), "reconnect");
  send_text(fd, ctx.token);
}
