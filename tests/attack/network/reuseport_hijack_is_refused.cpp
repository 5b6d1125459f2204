// SPDX-License-Identifier: Apache-2.0
// SO_REUSEPORT shares an outside server's port, and its clients.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(reuseport_hijack_is_refused,
       {.victim = Victim::client_tcp4_shared, .allow = kAllowBindTcp4, .at = "bind", .root = true}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
  bind_to(fd, v4("127.0.0.1", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
