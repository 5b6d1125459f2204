// SPDX-License-Identifier: Apache-2.0
// connectx is a socket option that carries addresses. The class alone does not open it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(sctp_connectx_is_refused,
       {.victim = Victim::sctp4, .at = "socket", .modules = "sctp", .lacking = {{EPROTONOSUPPORT, ESOCKTNOSUPPORT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  constexpr int kConnectx = 110;  // SCTP_SOCKOPT_CONNECTX
  const Address to = v4("127.0.0.1", ctx.port);
  set_option(fd, IPPROTO_SCTP, kConnectx, to.raw(), to.length);
  send_text(fd, ctx.token);
}
