// SPDX-License-Identifier: Apache-2.0
// AF_XDP takes over a queue of an interface.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(
    xdp_socket_is_refused,
    {.victim = Victim::attacker_socket, .at = "socket", .root = true, .lacking = {{EAFNOSUPPORT}}, .shows = "44 3 0"}) {
  ctx.keep(open_socket(AF_XDP, SOCK_RAW));
}
