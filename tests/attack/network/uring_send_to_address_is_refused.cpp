// SPDX-License-Identifier: Apache-2.0
// IORING_OP_SEND_ZC names an address without a message header.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(uring_send_to_address_is_refused,
       {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "send", .lacking = {{EINVAL, EOPNOTSUPP}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  const Address to = v4("127.0.0.1", ctx.port);
  Ring ring;
  io_uring_sqe* request = ring.request();
  io_uring_prep_send_zc(request, fd.get(), ctx.token.data(), ctx.token.size(), 0, 0);
  io_uring_prep_send_set_addr(request, to.raw(), static_cast<__u16>(to.length));
  ring.complete("send");
}
