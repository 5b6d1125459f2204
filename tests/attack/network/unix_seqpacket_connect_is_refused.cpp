// SPDX-License-Identifier: Apache-2.0
// SOCK_SEQPACKET connects like a stream.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_seqpacket_connect_is_refused, {.victim = Victim::unix_seqpacket, .at = "connect"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_SEQPACKET);
  connect_to(fd, unix_path(ctx.text("path")));
  send_text(fd, ctx.token);
}
