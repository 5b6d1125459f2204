// SPDX-License-Identifier: Apache-2.0
// listen() binds by itself, and no bind hook runs.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp4_listen_without_bind_is_refused, {.victim = Victim::client_tcp4,
                                             .allow = "bind: [{address: 0.0.0.0, ports: [0], protocol: tcp}]",
                                             .at = "listen"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  listen_on(fd);
  ctx.serve(std::move(fd));
}
