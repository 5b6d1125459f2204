// SPDX-License-Identifier: Apache-2.0
// A datagram socket of an outside process, connected.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_dgram_connect_is_refused, {.victim = Victim::unix_dgram, .at = "connect"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_DGRAM);
  connect_to(fd, unix_path(ctx.text("path")));
  send_text(fd, ctx.token);
}
