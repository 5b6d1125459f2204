// SPDX-License-Identifier: Apache-2.0
// A policy for one port does not open another.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp4_bind_to_other_port_is_refused, {.victim = Victim::client_tcp4, .allow = kAllowBindTcp4, .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, v4("127.0.0.1", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
