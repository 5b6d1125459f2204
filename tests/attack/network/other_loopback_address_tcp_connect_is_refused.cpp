// SPDX-License-Identifier: Apache-2.0
// Loopback is address:port like anything else: the decoy's port on another address of 127.0.0.0/8 is another endpoint.
// The control connects to the victim, by the address that it has.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(other_loopback_address_tcp_connect_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4(ctx.denied ? "127.0.0.2" : "127.0.0.1", ctx.denied ? ctx.decoy : ctx.port));
  send_text(fd, ctx.token);
}
