// SPDX-License-Identifier: Apache-2.0
// IOSQE_ASYNC hands the request to a worker thread.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(uring_worker_connect_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  const Address to = v4("127.0.0.1", ctx.port);
  Ring ring;
  io_uring_sqe* request = ring.request();
  io_uring_prep_connect(request, fd.get(), to.raw(), to.length);
  io_uring_sqe_set_flags(request, IOSQE_ASYNC);
  ring.complete("connect");
  send_text(fd, ctx.token);
}
