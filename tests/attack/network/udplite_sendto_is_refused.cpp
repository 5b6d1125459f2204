// SPDX-License-Identifier: Apache-2.0
// UDP-Lite is UDP under another number, past the rules for UDP.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udplite_sendto_is_refused, {.victim = Victim::udplite4,
                                   .allow = kAllowUdplite4,
                                   .at = "socket",
                                   .lacking = {{EPROTONOSUPPORT, ENOPROTOOPT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE);
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
