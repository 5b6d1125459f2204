// SPDX-License-Identifier: Apache-2.0
// 0.0.0.0 where only 127.0.0.1 is allowed: the socket is put there, and who comes by another address of the machine
// does not reach it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp4_wildcard_bind_by_loopback_rule_is_refused,
       {.victim = Victim::far_client_tcp4,
        .allow = "bind: [{address: 0.0.0.0, ports: [{port}]}, {address: 127.0.0.1, ports: [{port}]}]",
        .deny = kAllowBindTcp4,
        .expected = EADDRNOTAVAIL,
        .at = "getsockname",
        .machine_wide = true}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, v4("0.0.0.0", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
  must_be_wide(ctx.served());
}
