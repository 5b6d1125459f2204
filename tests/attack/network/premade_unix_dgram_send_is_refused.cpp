// SPDX-License-Identifier: Apache-2.0
// The same for a datagram socket.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_unix_dgram_send_is_refused, {.victim = Victim::unix_dgram, .at = "send", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_DGRAM);
  connect_to(fd, unix_path(ctx.text("path")));
  ctx.join();
  send_text(fd, ctx.token);
}
