// SPDX-License-Identifier: Apache-2.0
// The address lies in the message header.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_sendmsg_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendmsg"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  send_message(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
