// SPDX-License-Identifier: Apache-2.0
// No cgroup program sees SCTP.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(sctp_connect_is_refused, {.victim = Victim::sctp4,
                                 .allow = "dangerously_allow_sockets: [sctp]",
                                 .at = "socket",
                                 .modules = "sctp",
                                 .lacking = {{EPROTONOSUPPORT, ESOCKTNOSUPPORT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
