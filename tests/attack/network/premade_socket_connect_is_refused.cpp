// SPDX-License-Identifier: Apache-2.0
// A socket made before the process joined, connected after: connect4 does not run, socket_connect does.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_socket_connect_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  ctx.join();
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
