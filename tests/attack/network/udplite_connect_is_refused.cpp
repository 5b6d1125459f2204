// SPDX-License-Identifier: Apache-2.0
// Connecting a UDP-Lite socket runs no cgroup program on 6.1 and 6.12.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udplite_connect_is_refused, {.victim = Victim::udplite4,
                                    .allow = kAllowUdplite4,
                                    .at = "socket",
                                    .lacking = {{EPROTONOSUPPORT, ENOPROTOOPT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
