// SPDX-License-Identifier: Apache-2.0
// The same by IORING_OP_WRITE.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(premade_connection_uring_write_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "write", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  Ring ring;
  io_uring_prep_write(ring.request(), fd.get(), ctx.token.data(), static_cast<unsigned>(ctx.token.size()), 0);
  ring.complete("write");
}
