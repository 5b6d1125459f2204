// SPDX-License-Identifier: Apache-2.0
// bind takes family AF_UNSPEC with 0.0.0.0 for AF_INET. No address of loopback can stand for it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unspec_family_bind_is_refused, {.victim = Victim::client_tcp4,
                                       .allow = "bind: [{address: 0.0.0.0, ports: [{port}], protocol: tcp}]",
                                       .deny = kAllowBindTcp4,
                                       .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, unspec_v4("0.0.0.0", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
