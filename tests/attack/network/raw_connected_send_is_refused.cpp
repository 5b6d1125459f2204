// SPDX-License-Identifier: Apache-2.0
// A connected raw socket needs no address in its send.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(raw_connected_send_is_refused,
       {.victim = Victim::udp4, .allow = "dangerously_allow_sockets: [raw]", .at = "socket", .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  connect_to(fd, v4("127.0.0.1", 0));
  send_text(fd, udp4_packet("127.0.0.1", ctx.port, ctx.token));
}
