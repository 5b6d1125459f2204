// SPDX-License-Identifier: Apache-2.0
// ::ffff:0.0.0.0 is this host by yet another name.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv4_mapped_any_tcp_connect_is_refused,
       {.victim = Victim::tcp4,
        .allow = "connect: [{address: 0.0.0.0, ports: [{port}], protocol: tcp}]",
        .at = "connect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  connect_to(fd, v6("::ffff:0.0.0.0", ctx.port));
  send_text(fd, ctx.token);
}
