// SPDX-License-Identifier: Apache-2.0
// ::1 with the port that is allowed on 127.0.0.1.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp6_bind_is_refused, {.victim = Victim::client_tcp6,
                              .allow = "bind: [{address: \"::1\", ports: [{port}], protocol: tcp}]",
                              .deny = kAllowBindTcp4,
                              .at = "bind"}) {
  Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  bind_to(fd, v6("::1", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
