// SPDX-License-Identifier: Apache-2.0
// A socketpair has no outside, but its ends may send elsewhere.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_dgram_sendto_from_socketpair_is_refused, {.victim = Victim::unix_dgram, .at = "sendto"}) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  const Fd left(ends[0]), right(ends[1]);
  send_text_to(left, ctx.token, unix_path(ctx.text("path")));
}
