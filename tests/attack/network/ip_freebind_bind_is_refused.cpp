// SPDX-License-Identifier: Apache-2.0
// IP_FREEBIND needs no privilege; the bind is judged by its address. The bound socket is the proof.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ip_freebind_bind_is_refused, {.allow = "bind: [{address: 192.0.2.99, ports: [0], protocol: udp}]",
                                     .at = "bind",
                                     .claims = "the address is nobody's"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, IPPROTO_IP, IP_FREEBIND, 1);
  bind_to(fd, v4("192.0.2.99", 0));
}
