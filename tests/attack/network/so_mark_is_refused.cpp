// SPDX-License-Identifier: Apache-2.0
// A mark chooses routes and passes filters that trust it. The option itself is the harm.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(so_mark_is_refused, {.victim = Victim::attacker_option, .at = "setsockopt", .root = true, .shows = "1 36 83"}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, SOL_SOCKET, SO_MARK, 83);
  ctx.keep(std::move(fd));
}
