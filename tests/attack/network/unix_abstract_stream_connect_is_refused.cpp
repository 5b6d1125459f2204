// SPDX-License-Identifier: Apache-2.0
// The same by abstract name: no file, no permission bits.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_abstract_stream_connect_is_refused, {.victim = Victim::unix_stream_abstract, .at = "connect"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  connect_to(fd, unix_abstract(ctx.text("name")));
  send_text(fd, ctx.token);
}
