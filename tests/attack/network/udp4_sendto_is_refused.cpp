// SPDX-License-Identifier: Apache-2.0
// The plain case: sendmsg4 and socket_sendmsg.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_sendto_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
