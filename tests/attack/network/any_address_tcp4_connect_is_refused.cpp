// SPDX-License-Identifier: Apache-2.0
// 0.0.0.0 as a destination means this host. A rule must name it to allow it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(any_address_tcp4_connect_is_refused, {.victim = Victim::tcp4,
                                             .allow = "connect: [{address: 0.0.0.0, ports: [{port}], protocol: tcp}]",
                                             .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("0.0.0.0", ctx.port));
  send_text(fd, ctx.token);
}
