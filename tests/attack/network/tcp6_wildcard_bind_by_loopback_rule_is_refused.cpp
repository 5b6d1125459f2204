// SPDX-License-Identifier: Apache-2.0
// :: in the same way: a socket that would take IPv4, too, and from everywhere.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp6_wildcard_bind_by_loopback_rule_is_refused,
       {.victim = Victim::far_client_tcp4,
        .allow = "bind: [{address: \"::\", ports: [{port}]}, {address: 127.0.0.1, ports: [{port}]}]",
        .deny = kAllowBindTcp4,
        .expected = EADDRNOTAVAIL,
        .at = "getsockname",
        .machine_wide = true}) {
  Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  bind_to(fd, v6("::", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
  must_be_wide(ctx.served());
}
