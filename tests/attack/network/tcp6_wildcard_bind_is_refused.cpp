// SPDX-License-Identifier: Apache-2.0
// :: listens on IPv4, too.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp6_wildcard_bind_is_refused, {.victim = Victim::client_tcp4,
                                       .allow = "bind: [{address: \"::\", ports: [{port}], protocol: tcp}]",
                                       .deny = kBindElsewhere,
                                       .at = "bind"}) {
  Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  bind_to(fd, v6("::", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
