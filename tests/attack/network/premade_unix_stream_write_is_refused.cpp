// SPDX-License-Identifier: Apache-2.0
// An AF_UNIX connection to an outside process from before.
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_unix_stream_write_is_refused, {.victim = Victim::unix_stream, .at = "write", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  connect_to(fd, unix_path(ctx.text("path")));
  ctx.join();
  must(write(fd.get(), ctx.token.data(), ctx.token.size()), "write");
}
