// SPDX-License-Identifier: Apache-2.0
// A ping socket carries data in echo requests, without privilege.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(ping_sendto_is_refused,
       {.victim = Victim::icmp4, .allow = "dangerously_allow_sockets: [ping]", .at = "socket"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
  send_text_to(fd, echo_request(false, ctx.token), v4("127.0.0.1", 0));
}
