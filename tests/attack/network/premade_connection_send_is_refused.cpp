// SPDX-License-Identifier: Apache-2.0
// A socket made and connected before the process joined: the cgroup programs follow the socket and do not run.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_connection_send_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "send", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  send_text(fd, ctx.token);
}
