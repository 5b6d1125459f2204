// SPDX-License-Identifier: Apache-2.0
// A connection made before the process joined, and beside it the name of an allowed address, which a stream ignores.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_connection_sendto_with_other_name_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "sendto", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.decoy));
}
