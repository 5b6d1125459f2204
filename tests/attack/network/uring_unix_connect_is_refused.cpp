// SPDX-License-Identifier: Apache-2.0
// IORING_OP_CONNECT to an outside process's AF_UNIX socket.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(uring_unix_connect_is_refused, {.victim = Victim::unix_stream, .at = "connect"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  const Address to = unix_path(ctx.text("path"));
  Ring ring;
  io_uring_prep_connect(ring.request(), fd.get(), to.raw(), to.length);
  ring.complete("connect");
  send_text(fd, ctx.token);
}
