// SPDX-License-Identifier: Apache-2.0
// A raw socket opened before the process joined.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(premade_raw_socket_is_refused, {.victim = Victim::udp4,
                                       .allow = "dangerously_allow_sockets: [raw]",
                                       .at = "sendto",
                                       .launch = Launch::attach,
                                       .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  ctx.join();
  send_text_to(fd, udp4_packet("127.0.0.1", ctx.port, ctx.token), v4("127.0.0.1", 0));
}
