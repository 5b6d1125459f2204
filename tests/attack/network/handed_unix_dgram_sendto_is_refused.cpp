// SPDX-License-Identifier: Apache-2.0
// The same by sendto.
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(handed_unix_dgram_sendto_is_refused,
       {.victim = Victim::unix_dgram, .at = "sendto", .input = Stdin::unix_dgram}) {
  const Fd fd(dup(STDIN_FILENO));
  send_text_to(fd, ctx.token, unix_path(ctx.text("path")));
}
