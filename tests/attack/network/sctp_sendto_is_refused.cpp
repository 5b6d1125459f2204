// SPDX-License-Identifier: Apache-2.0
// A one-to-many socket associates on the first sendto.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(sctp_sendto_is_refused, {.victim = Victim::sctp4_many,
                                .allow = "dangerously_allow_sockets: [sctp]",
                                .at = "socket",
                                .modules = "sctp",
                                .lacking = {{EPROTONOSUPPORT, ESOCKTNOSUPPORT}}}) {
  Fd fd = open_socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
  ctx.keep(std::move(fd));
}
