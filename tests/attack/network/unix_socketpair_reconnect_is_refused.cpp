// SPDX-License-Identifier: Apache-2.0
// An end of a datagram socketpair may be connected anew.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_socketpair_reconnect_is_refused, {.victim = Victim::unix_dgram, .at = "connect"}) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  const Fd left(ends[0]), right(ends[1]);
  connect_to(left, unspec(), "disconnect");
  connect_to(left, unix_path(ctx.text("path")));
  send_text(left, ctx.token);
}
