// SPDX-License-Identifier: Apache-2.0
// The plain case of IPv6: connect6 and socket_connect.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp6_connect_is_refused, {.victim = Victim::tcp6, .allow = kAllowTcp6, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  connect_to(fd, v6("::1", ctx.port));
  send_text(fd, ctx.token);
}
