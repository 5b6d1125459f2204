// SPDX-License-Identifier: Apache-2.0
// What is not known to be harmless is refused: here an option that hands a socket's packets to IPsec. The option is the
// proof.
#include <netinet/udp.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(udp_encapsulation_is_refused, {.victim = Victim::attacker_option, .at = "setsockopt", .shows = "17 100 2"}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, IPPROTO_UDP, UDP_ENCAP, UDP_ENCAP_ESPINUDP);
  ctx.keep(std::move(fd));
}
