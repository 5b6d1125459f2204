// SPDX-License-Identifier: Apache-2.0
// MPTCP over IPv6 to a mapped address.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(mptcp_mapped_connect_is_refused,
       {.victim = Victim::mptcp4, .allow = kAllowMptcp4, .at = "socket", .lacking = {{EPROTONOSUPPORT, ENOPROTOOPT}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM, IPPROTO_MPTCP);
  connect_to(fd, v6("::ffff:127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
