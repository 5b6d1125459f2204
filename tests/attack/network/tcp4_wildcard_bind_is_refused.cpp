// SPDX-License-Identifier: Apache-2.0
// 0.0.0.0 where neither it nor 127.0.0.1 is allowed with that port: no other address of loopback stands for it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp4_wildcard_bind_is_refused, {.victim = Victim::client_tcp4,
                                       .allow = "bind: [{address: 0.0.0.0, ports: [{port}], protocol: tcp}]",
                                       .deny = kBindElsewhere,
                                       .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, v4("0.0.0.0", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
