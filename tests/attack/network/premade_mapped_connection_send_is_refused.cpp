// SPDX-License-Identifier: Apache-2.0
// An IPv6 socket connected to a mapped address before: its peer must be looked up as IPv4.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_mapped_connection_send_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "send", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  connect_to(fd, v6("::ffff:127.0.0.1", ctx.port));
  ctx.join();
  send_text(fd, ctx.token);
}
