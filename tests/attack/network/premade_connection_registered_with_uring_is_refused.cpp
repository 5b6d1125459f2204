// SPDX-License-Identifier: Apache-2.0
// The socket is known to a ring only; its descriptor was closed. Ring and socket were made before the process joined.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(premade_connection_registered_with_uring_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "write", .launch = Launch::attach}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  Ring ring;
  ring.register_file(fd.get());
  fd.reset();
  ctx.join();
  io_uring_sqe* request = ring.request();
  io_uring_prep_write(request, 0, ctx.token.data(), static_cast<unsigned>(ctx.token.size()), 0);
  io_uring_sqe_set_flags(request, IOSQE_FIXED_FILE);
  ring.complete("write");
}
