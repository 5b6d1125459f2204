// SPDX-License-Identifier: Apache-2.0
// A sockaddr_in on an AF_INET6 socket: the address's family, not the socket's, says what it is.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv4_address_on_udp6_connect_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
