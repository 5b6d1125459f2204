// SPDX-License-Identifier: Apache-2.0
// A socket that was shut down and dissolved is as new: its next connection is judged anew, from a bound port too.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_send_after_shutdown_reuse_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "reconnect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.decoy), "connect decoy");
  must(shutdown(fd.get(), SHUT_RDWR), "shutdown");
  connect_to(fd, unspec(), "disconnect");
  connect_to(fd, v4("127.0.0.1", ctx.port), "reconnect");
  send_text(fd, ctx.token);
}
