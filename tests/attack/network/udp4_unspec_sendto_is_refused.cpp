// SPDX-License-Identifier: Apache-2.0
// sendto takes a sockaddr_in of family AF_UNSPEC on an IPv4 socket for AF_INET.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_unspec_sendto_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  send_text_to(fd, ctx.token, unspec_v4("127.0.0.1", ctx.port));
}
