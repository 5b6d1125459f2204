// SPDX-License-Identifier: Apache-2.0
// Port 0: the kernel picks one.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ephemeral_bind_is_refused, {.victim = Victim::client_tcp4,
                                   .allow = "bind: [{address: 127.0.0.1, ports: [0], protocol: tcp}]",
                                   .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, v4("127.0.0.1", 0));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
