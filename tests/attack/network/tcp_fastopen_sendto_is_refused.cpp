// SPDX-License-Identifier: Apache-2.0
// sendto(MSG_FASTOPEN) connects without connect(2): only connect4 and socket_sendmsg see the address.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_fastopen_sendto_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port), MSG_FASTOPEN);
}
