// SPDX-License-Identifier: Apache-2.0
// TCP_FASTOPEN_CONNECT may put the handshake off until the first write.
#include <netinet/tcp.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_fastopen_connect_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  set_option(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
