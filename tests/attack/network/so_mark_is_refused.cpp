// SPDX-License-Identifier: Apache-2.0
// A mark chooses routes and passes filters that trust it. The option itself is the proof.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(so_mark_is_refused, {.at = "setsockopt", .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, SOL_SOCKET, SO_MARK, 83);
}
