// SPDX-License-Identifier: Apache-2.0
// A non-blocking connect reports its error later; the refusal must not come later.
#include <poll.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_nonblocking_connect_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
  const Address to = v4("127.0.0.1", ctx.port);
  if (connect(fd.get(), to.raw(), to.length) != 0 && errno != EINPROGRESS) throw Failure{errno, "connect"};
  pollfd wait = {fd.get(), POLLOUT, 0};
  must(poll(&wait, 1, 5000), "poll");
  send_text(fd, ctx.token);
}
