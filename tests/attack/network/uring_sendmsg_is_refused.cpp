// SPDX-License-Identifier: Apache-2.0
// IORING_OP_SENDMSG with an address.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(uring_sendmsg_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendmsg"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  Address to = v4("127.0.0.1", ctx.port);
  iovec part = {ctx.token.data(), ctx.token.size()};
  msghdr message{};
  message.msg_name = to.raw();
  message.msg_namelen = to.length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Ring ring;
  io_uring_prep_sendmsg(ring.request(), fd.get(), &message, 0);
  ring.complete("sendmsg");
}
