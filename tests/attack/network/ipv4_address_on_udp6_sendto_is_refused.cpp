// SPDX-License-Identifier: Apache-2.0
// The same in sendto.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv4_address_on_udp6_sendto_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
