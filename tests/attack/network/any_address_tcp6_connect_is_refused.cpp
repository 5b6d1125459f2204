// SPDX-License-Identifier: Apache-2.0
// :: as a destination means ::1.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(any_address_tcp6_connect_is_refused, {.victim = Victim::tcp6,
                                             .allow = "connect: [{address: \"::\", ports: [{port}], protocol: tcp}]",
                                             .at = "connect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  connect_to(fd, v6("::", ctx.port));
  send_text(fd, ctx.token);
}
