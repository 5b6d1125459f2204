// SPDX-License-Identifier: Apache-2.0
// The kernel thread of a ring that was made before the process joined must have moved with it.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(premade_sqpoll_ring_connect_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect", .launch = Launch::attach}) {
  Ring ring(IORING_SETUP_SQPOLL);
  ctx.join();
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  const Address to = v4("127.0.0.1", ctx.port);
  io_uring_prep_connect(ring.request(), fd.get(), to.raw(), to.length);
  ring.complete("connect");
  send_text(fd, ctx.token);
}
