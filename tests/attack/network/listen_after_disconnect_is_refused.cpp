// SPDX-License-Identifier: Apache-2.0
// An allowed connect gives the socket a port; after connect(AF_UNSPEC) it can listen.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(listen_after_disconnect_is_refused, {.victim = Victim::client_tcp4,
                                            .allow = "connect: [{address: 127.0.0.1, ports: [{decoy}]}]"
                                                     "\n  bind: [{address: 0.0.0.0, ports: [0], protocol: tcp}]",
                                            .at = "listen"}) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.decoy), "connect decoy");
  connect_to(fd, unspec(), "disconnect");
  listen_on(fd);
  ctx.serve(std::move(fd));
}
