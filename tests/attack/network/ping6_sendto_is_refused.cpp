// SPDX-License-Identifier: Apache-2.0
// The same over IPv6.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(ping6_sendto_is_refused,
       {.victim = Victim::icmp6, .allow = "dangerously_allow_sockets: [ping]", .at = "socket"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6);
  send_text_to(fd, echo_request(true, ctx.token), v6("::1", 0));
}
