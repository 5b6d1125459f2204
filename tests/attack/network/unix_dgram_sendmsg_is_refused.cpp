// SPDX-License-Identifier: Apache-2.0
// The same by sendmsg.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_dgram_sendmsg_is_refused, {.victim = Victim::unix_dgram, .at = "sendmsg"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_DGRAM);
  send_message(fd, ctx.token, unix_path(ctx.text("path")));
}
