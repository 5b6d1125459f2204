// SPDX-License-Identifier: Apache-2.0
// The plain case of IPv6: sendmsg6 and socket_sendmsg.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp6_sendto_is_refused, {.victim = Victim::udp6, .allow = kAllowUdp6, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  send_text_to(fd, ctx.token, v6("::1", ctx.port));
}
