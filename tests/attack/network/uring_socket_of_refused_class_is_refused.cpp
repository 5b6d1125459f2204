// SPDX-License-Identifier: Apache-2.0
// IORING_OP_SOCKET makes sockets without socket(2).
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(uring_socket_of_refused_class_is_refused,
       {.victim = Victim::mptcp4, .allow = kAllowMptcp4, .at = "socket", .lacking = {{EPROTONOSUPPORT, ENOPROTOOPT}}}) {
  Ring ring;
  io_uring_prep_socket(ring.request(), AF_INET, SOCK_STREAM, IPPROTO_MPTCP, 0);
  const Fd fd(ring.complete("socket"));
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
