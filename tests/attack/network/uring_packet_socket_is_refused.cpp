// SPDX-License-Identifier: Apache-2.0
// IORING_OP_SOCKET for AF_PACKET. The socket is the proof.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(uring_packet_socket_is_refused, {.victim = Victim::attacker_socket,
                                        .allow = "dangerously_allow_sockets: [packet]",
                                        .at = "socket",
                                        .root = true,
                                        .modules = "af_packet",
                                        .lacking = {{EAFNOSUPPORT}},
                                        .shows = "17 3 0"}) {
  Ring ring;
  io_uring_prep_socket(ring.request(), AF_PACKET, SOCK_RAW, 0, 0);
  ctx.keep(Fd(ring.complete("socket")));
}
