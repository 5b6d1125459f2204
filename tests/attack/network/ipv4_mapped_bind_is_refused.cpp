// SPDX-License-Identifier: Apache-2.0
// bind6 must look the mapped IPv4 address up.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv4_mapped_bind_is_refused, {.victim = Victim::client_tcp4, .allow = kAllowBindTcp4, .at = "bind"}) {
  Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  bind_to(fd, v6("::ffff:127.0.0.1", ctx.port));
  listen_on(fd);
  ctx.serve(std::move(fd));
}
