// SPDX-License-Identifier: Apache-2.0
// The allowed port on another address.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp4_bind_to_other_address_is_refused, {.victim = Victim::client_tcp4,
                                               .allow = "bind: [{address: 127.0.0.2, ports: [{port}], protocol: tcp}]",
                                               .deny = kAllowBindTcp4,
                                               .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, v4("127.0.0.2", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
