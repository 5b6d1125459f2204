// SPDX-License-Identifier: Apache-2.0
// TCP_REPAIR makes a socket "connected" without a handshake; it needs NET_ADMIN, which a sandbox does not have.
#include <netinet/tcp.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_repair_connect_is_refused, {.victim = Victim::tcp4, .at = "setsockopt", .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  set_option(fd, IPPROTO_TCP, TCP_REPAIR, 1);
  set_option(fd, IPPROTO_TCP, TCP_REPAIR, 0);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
