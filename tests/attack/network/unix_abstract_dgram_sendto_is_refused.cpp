// SPDX-License-Identifier: Apache-2.0
// The same by abstract name.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_abstract_dgram_sendto_is_refused, {.victim = Victim::unix_dgram_abstract, .at = "sendto"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_DGRAM);
  send_text_to(fd, ctx.token, unix_abstract(ctx.text("name")));
}
