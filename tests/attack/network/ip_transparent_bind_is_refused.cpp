// SPDX-License-Identifier: Apache-2.0
// IP_TRANSPARENT lets a socket speak as an address that is not this machine's.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ip_transparent_bind_is_refused,
       {.victim = Victim::attacker_option, .at = "setsockopt", .root = true, .shows = "0 19 1"}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, IPPROTO_IP, IP_TRANSPARENT, 1);
  bind_to(fd, v4("192.0.2.99", 0));
  ctx.keep(std::move(fd));
}
