// SPDX-License-Identifier: Apache-2.0
// IORING_OP_BIND and IORING_OP_LISTEN, from 6.11 on.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(uring_bind_is_refused,
       {.victim = Victim::client_tcp4, .allow = kAllowBindTcp4, .at = "bind", .lacking = {{EINVAL, EOPNOTSUPP}}}) {
  constexpr int kBind = 56, kListen = 57;  // IORING_OP_BIND, IORING_OP_LISTEN
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  const Address at = v4("127.0.0.1", ctx.port);
  Ring ring;
  io_uring_prep_rw(kBind, ring.request(), fd.get(), at.raw(), 0, at.length);
  ring.complete("bind");
  io_uring_prep_rw(kListen, ring.request(), fd.get(), nullptr, 16, 0);
  ring.complete("listen");
  ctx.serve(std::move(fd));
}
