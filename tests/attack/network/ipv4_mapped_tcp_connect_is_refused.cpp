// SPDX-License-Identifier: Apache-2.0
// An IPv6 socket reaches IPv4 through ::ffff:a.b.c.d: connect6 must look the IPv4 address up.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv4_mapped_tcp_connect_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  connect_to(fd, v6("::ffff:127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
