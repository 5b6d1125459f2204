// SPDX-License-Identifier: Apache-2.0
// No cgroup program sees an SCTP bind.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(sctp_bind_is_refused, {.victim = Victim::client_sctp4,
                              .allow = "dangerously_allow_sockets: [sctp]",
                              .at = "socket",
                              .modules = "sctp",
                              .lacking = {{EPROTONOSUPPORT, ESOCKTNOSUPPORT}}}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  bind_to(fd, v4("127.0.0.1", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
