// SPDX-License-Identifier: Apache-2.0
// IPPROTO_RAW sends a whole packet: the UDP datagram in it meets no UDP hook.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(raw_crafted_udp_is_refused,
       {.victim = Victim::udp4, .allow = "dangerously_allow_sockets: [raw]", .at = "socket", .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  send_text_to(fd, udp4_packet("127.0.0.1", ctx.port, ctx.token), v4("127.0.0.1", 0));
}
