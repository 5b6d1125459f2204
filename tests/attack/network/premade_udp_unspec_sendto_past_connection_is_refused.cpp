// SPDX-License-Identifier: Apache-2.0
// A UDP socket that is connected to an allowed address, and a name of family AF_UNSPEC, which sendto takes for AF_INET:
// whoever takes it for no name judges the peer instead.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_udp_unspec_sendto_past_connection_is_refused,
       {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendto", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  connect_to(fd, v4("127.0.0.1", ctx.decoy));
  ctx.join();
  send_text_to(fd, ctx.token, unspec_v4("127.0.0.1", ctx.port));
}
