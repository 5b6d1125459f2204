// SPDX-License-Identifier: Apache-2.0
// A bound UDP port is a server.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_bind_is_refused, {.victim = Victim::client_udp4, .allow = kAllowBindUdp4, .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  bind_to(fd, v4("127.0.0.1", ctx.port));
  ctx.serve(std::move(fd));
}
