// SPDX-License-Identifier: Apache-2.0
// A socket from before, bound after: bind4 does not run, socket_bind does.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_socket_bind_is_refused,
       {.victim = Victim::client_udp4, .allow = kAllowBindUdp4, .at = "bind", .launch = Launch::attach}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  ctx.join();
  bind_to(fd, v4("127.0.0.1", ctx.port));
  ctx.serve(std::move(fd));
}
