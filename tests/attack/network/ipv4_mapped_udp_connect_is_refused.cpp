// SPDX-License-Identifier: Apache-2.0
// connect6 must look the mapped IPv4 address up.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv4_mapped_udp_connect_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  connect_to(fd, v6("::ffff:127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
