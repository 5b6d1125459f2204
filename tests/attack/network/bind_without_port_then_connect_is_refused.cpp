// SPDX-License-Identifier: Apache-2.0
// IP_BIND_ADDRESS_NO_PORT puts the port off; the address is bound all the same.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(bind_without_port_then_connect_is_refused, {.victim = Victim::client_tcp4,
                                                   .allow = "bind: [{address: 127.0.0.1, ports: [0], protocol: tcp}]",
                                                   .at = "bind"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  bind_to(fd, v4("127.0.0.1", 0));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
