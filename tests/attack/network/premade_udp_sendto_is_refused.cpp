// SPDX-License-Identifier: Apache-2.0
// A UDP socket made before the process joined: sendmsg4 does not run, socket_sendmsg does.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_udp_sendto_is_refused,
       {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  ctx.join();
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
