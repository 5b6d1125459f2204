// SPDX-License-Identifier: Apache-2.0
// The same by MSG_ZEROCOPY.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_connection_zerocopy_send_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "send", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  set_option(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
  send_text(fd, ctx.token, MSG_ZEROCOPY);
}
