// SPDX-License-Identifier: Apache-2.0
// A mapped destination arrives at sendmsg4, not sendmsg6.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv4_mapped_udp_sendto_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  send_text_to(fd, ctx.token, v6("::ffff:127.0.0.1", ctx.port));
}
