// SPDX-License-Identifier: Apache-2.0
// Two messages in one call: the first to an allowed address, the second not. The first one's success hides the error of
// the second, so that one is sent again alone.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_sendmmsg_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendmmsg"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  Address to[2] = {v4("127.0.0.1", ctx.decoy), v4("127.0.0.1", ctx.port)};
  iovec part = {ctx.token.data(), ctx.token.size()};
  mmsghdr messages[2] = {};
  for (int i = 0; i < 2; i++) {
    messages[i].msg_hdr.msg_name = to[i].raw();
    messages[i].msg_hdr.msg_namelen = to[i].length;
    messages[i].msg_hdr.msg_iov = &part;
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  // One by one: several at once are refused whoever they are for.
  must(sendmmsg(fd.get(), messages, 1, 0), "sendmmsg of the first");
  must(sendmmsg(fd.get(), messages + 1, 1, 0), "sendmmsg");
}
