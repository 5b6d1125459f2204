// SPDX-License-Identifier: Apache-2.0
// A connection made in the very cgroup that is then attached: the socket is not foreign, and no hook judged it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(attach_with_own_open_connection_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  send_text(fd, ctx.token);
}
