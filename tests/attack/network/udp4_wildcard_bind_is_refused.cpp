// SPDX-License-Identifier: Apache-2.0
// 0.0.0.0 for UDP.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp4_wildcard_bind_is_refused, {.victim = Victim::client_udp4,
                                       .allow = "bind: [{address: 0.0.0.0, ports: [{port}], protocol: udp}]\n"
                                                "  connect: [{address: 127.0.0.1, ports: [1-65535], protocol: udp}]",
                                       .deny = kBindElsewhere,
                                       .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  bind_to(fd, v4("0.0.0.0", ctx.port));
  ctx.serve(std::move(fd));
}
