// SPDX-License-Identifier: Apache-2.0
// Raw ICMP.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(raw_icmp_is_refused,
       {.victim = Victim::icmp4, .allow = "dangerously_allow_sockets: [raw]", .at = "socket", .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
  send_text_to(fd, echo_request(false, ctx.token), v4("127.0.0.1", 0));
}
