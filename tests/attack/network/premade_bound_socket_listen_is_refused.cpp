// SPDX-License-Identifier: Apache-2.0
// Bound before the process joined, listening after: no bind hook judged it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_bound_socket_listen_is_refused,
       {.victim = Victim::client_tcp4, .allow = kAllowBindTcp4, .at = "listen", .launch = Launch::attach}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  listen_on(fd);
  ctx.serve(std::move(fd));
}
