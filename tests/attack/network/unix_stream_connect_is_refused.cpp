// SPDX-License-Identifier: Apache-2.0
// A stream socket of an outside process, by path.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_stream_connect_is_refused, {.victim = Victim::unix_stream, .at = "connect"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  connect_to(fd, unix_path(ctx.text("path")));
  send_text(fd, ctx.token);
}
