// SPDX-License-Identifier: Apache-2.0
// A rule for one port must not let the kernel pick any other.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(listen_without_bind_by_explicit_rule_is_refused,
       {.victim = Victim::client_tcp4,
        .allow = "bind: [{address: 0.0.0.0, ports: [0], protocol: tcp}]",
        .deny = "bind: [{address: 0.0.0.0, ports: [{port}], protocol: tcp}]",
        .at = "listen"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  listen_on(fd);
  ctx.serve(std::move(fd));
}
