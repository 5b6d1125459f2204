// SPDX-License-Identifier: Apache-2.0
// A datagram socket that the operator handed over as stdin cannot be turned to another peer.
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(handed_unix_dgram_reconnect_is_refused,
       {.victim = Victim::unix_dgram, .at = "connect", .input = Stdin::unix_dgram}) {
  const Fd fd(dup(STDIN_FILENO));
  connect_to(fd, unix_path(ctx.text("path")));
  send_text(fd, ctx.token);
}
