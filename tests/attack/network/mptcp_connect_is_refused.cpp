// SPDX-License-Identifier: Apache-2.0
// MPTCP is a protocol of its own (262) whose subflows the kernel makes: not allowed unless named.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(mptcp_connect_is_refused,
       {.victim = Victim::mptcp4, .allow = kAllowMptcp4, .at = "socket", .lacking = {{EPROTONOSUPPORT, ENOPROTOOPT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
