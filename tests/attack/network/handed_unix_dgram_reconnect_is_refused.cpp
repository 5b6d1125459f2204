// SPDX-License-Identifier: Apache-2.0
// A datagram socket as stdin, from the operator, could be connected to anyone.
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(handed_unix_dgram_reconnect_is_refused,
       {.victim = Victim::unix_dgram, .at = "connect", .input = Stdin::unix_dgram}) {
  const Fd fd(dup(STDIN_FILENO));
  connect_to(fd, unix_path(ctx.text("path")));
  send_text(fd, ctx.token);
}
