// SPDX-License-Identifier: Apache-2.0
// Without --keep-open-sockets a connection that the policy forbids keeps `sbpf attach` from attaching.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(attach_with_open_connection_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "", .launch = Launch::attach_refused}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  send_text(fd, ctx.token);
}
