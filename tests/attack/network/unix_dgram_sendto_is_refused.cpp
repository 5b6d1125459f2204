// SPDX-License-Identifier: Apache-2.0
// The same by sendto.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_dgram_sendto_is_refused, {.victim = Victim::unix_dgram, .at = "sendto"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_DGRAM);
  send_text_to(fd, ctx.token, unix_path(ctx.text("path")));
}
