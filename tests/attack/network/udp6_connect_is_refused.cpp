// SPDX-License-Identifier: Apache-2.0
// The plain case of IPv6.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp6_connect_is_refused, {.victim = Victim::udp6, .allow = kAllowUdp6, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  connect_to(fd, v6("::1", ctx.port));
  send_text(fd, ctx.token);
}
