// SPDX-License-Identifier: Apache-2.0
// connect(AF_UNSPEC) dissolves an allowed connection; the socket may then be connected elsewhere.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_reconnect_after_disconnect_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "reconnect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.decoy), "connect decoy");
  connect_to(fd, unspec(), "disconnect");
  connect_to(fd, v4("127.0.0.1", ctx.port), "reconnect");
  send_text(fd, ctx.token);
}
