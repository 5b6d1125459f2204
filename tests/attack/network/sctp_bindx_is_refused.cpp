// SPDX-License-Identifier: Apache-2.0
// bindx is a socket option that carries addresses. The class alone does not open it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(sctp_bindx_is_refused, {.victim = Victim::client_sctp4,
                               .at = "socket",
                               .modules = "sctp",
                               .lacking = {{EPROTONOSUPPORT, ESOCKTNOSUPPORT}}}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  constexpr int kBindxAdd = 100;  // SCTP_SOCKOPT_BINDX_ADD
  const Address at = v4("127.0.0.1", ctx.port);
  set_option(fd, IPPROTO_SCTP, kBindxAdd, at.raw(), at.length);
  listen_on(fd);
  ctx.serve(std::move(fd));
}
