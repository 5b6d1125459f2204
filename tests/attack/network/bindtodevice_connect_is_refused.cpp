// SPDX-License-Identifier: Apache-2.0
// SO_BINDTODEVICE needs no privilege and changes the route, never the address: it is allowed, the connect is judged.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(bindtodevice_connect_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  set_option(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
