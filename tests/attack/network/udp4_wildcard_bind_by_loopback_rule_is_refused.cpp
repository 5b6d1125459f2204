// SPDX-License-Identifier: Apache-2.0
// The same for UDP.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_wildcard_bind_by_loopback_rule_is_refused,
       {.victim = Victim::far_client_udp4,
        .allow = "bind: [{address: 0.0.0.0, ports: [{port}]}, {address: 127.0.0.1, ports: [{port}]}]"
                 "\n  connect: [{address: 192.0.2.84, ports: [1-65535], protocol: udp}]",
        .deny = kAllowBindUdp4,
        .expected = EADDRNOTAVAIL,
        .at = "getsockname",
        .machine_wide = true}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  bind_to(fd, v4("0.0.0.0", ctx.port));
  ctx.serve(std::move(fd));
  must_be_wide(ctx.served());
}
