// SPDX-License-Identifier: Apache-2.0
// UDP_CORK: as MSG_MORE, flushed by the option.
#include <netinet/udp.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_corked_sendto_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, IPPROTO_UDP, UDP_CORK, 1);
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
  set_option(fd, IPPROTO_UDP, UDP_CORK, 0);
}
