// SPDX-License-Identifier: Apache-2.0
// A UDP socket connected before the process joined.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_udp_connection_send_is_refused,
       {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "send", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  send_text(fd, ctx.token);
}
