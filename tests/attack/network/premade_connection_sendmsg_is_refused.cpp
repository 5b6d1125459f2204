// SPDX-License-Identifier: Apache-2.0
// The same by sendmsg without an address.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_connection_sendmsg_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "sendmsg", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  send_message(fd, ctx.token, {});
}
