// SPDX-License-Identifier: Apache-2.0
// The same for IPv6, where it listens on IPv4 too.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp6_listen_without_bind_is_refused, {.victim = Victim::client_tcp4,
                                             .allow = "bind: [{address: \"::\", ports: [0], protocol: tcp}]",
                                             .at = "listen"}) {
  Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  listen_on(fd);
  ctx.serve(std::move(fd));
}
