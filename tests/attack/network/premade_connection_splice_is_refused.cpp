// SPDX-License-Identifier: Apache-2.0
// The same by splice from a pipe. Before 6.5 it passes socket_sendmsg by: `sbpf attach` must not accept the socket.
#include <fcntl.h>
#include <unistd.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(
    premade_connection_splice_is_refused,
    {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "splice", .launch = Launch::attach, .gap_before_6_5 = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  int ends[2];
  must(pipe2(ends, O_CLOEXEC), "pipe");
  const Fd read_end(ends[0]), write_end(ends[1]);
  write_text(write_end, ctx.token);
  must(splice(read_end.get(), nullptr, fd.get(), nullptr, ctx.token.size(), 0), "splice");
}
