// SPDX-License-Identifier: Apache-2.0
// The same from an IPv6 socket to a mapped address.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_fastopen_mapped_sendto_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  send_text_to(fd, ctx.token, v6("::ffff:127.0.0.1", ctx.port), MSG_FASTOPEN);
}
