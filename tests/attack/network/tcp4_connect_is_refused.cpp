// SPDX-License-Identifier: Apache-2.0
// The plain case: connect4 and socket_connect.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp4_connect_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
