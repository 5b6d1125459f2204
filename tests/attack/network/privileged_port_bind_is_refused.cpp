// SPDX-License-Identifier: Apache-2.0
// A port below 1024, as root. The control picks its own port; here the number is the attack.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(privileged_port_bind_is_refused, {.victim = Victim::client_tcp4,
                                         .allow = "bind: [{address: 127.0.0.1, ports: [883], protocol: tcp}]",
                                         .at = "bind",
                                         .root = true}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  bind_to(fd, v4("127.0.0.1", 883));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
