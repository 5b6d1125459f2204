// SPDX-License-Identifier: Apache-2.0
// A raw socket hears what others say, which no hook sees: attach must refuse a process that has one.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(attach_with_raw_socket_is_refused, {.victim = Victim::udp4,
                                           .allow = "dangerously_allow_sockets: [raw]",
                                           .launch = Launch::attach_refused,
                                           .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  ctx.join();
  send_text_to(fd, udp4_packet("127.0.0.1", ctx.port, ctx.token), v4("127.0.0.1", 0));
}
