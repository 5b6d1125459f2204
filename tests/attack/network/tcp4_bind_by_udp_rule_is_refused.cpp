// SPDX-License-Identifier: Apache-2.0
// A rule for UDP does not open TCP.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp4_bind_by_udp_rule_is_refused,
       {.victim = Victim::client_tcp4, .allow = kAllowBindTcp4, .deny = kAllowBindUdp4, .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, v4("127.0.0.1", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
