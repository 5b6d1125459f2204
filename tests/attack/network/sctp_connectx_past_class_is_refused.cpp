// SPDX-License-Identifier: Apache-2.0
// A policy that allows SCTP does not allow the options that carry addresses past the address hooks.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(sctp_connectx_past_class_is_refused, {.victim = Victim::sctp4,
                                             .deny = "dangerously_allow_sockets: [sctp]",
                                             .at = "setsockopt",
                                             .modules = "sctp",
                                             .lacking = {{EPROTONOSUPPORT, ESOCKTNOSUPPORT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  constexpr int kConnectx = 110;  // SCTP_SOCKOPT_CONNECTX
  const Address to = v4("127.0.0.1", ctx.port);
  set_option(fd, IPPROTO_SCTP, kConnectx, to.raw(), to.length);
  send_text(fd, ctx.token);
}
