// SPDX-License-Identifier: Apache-2.0
// AF_PACKET writes to the wire below every IP hook.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(packet_dgram_is_refused, {.victim = Victim::wire4,
                                 .allow = "dangerously_allow_sockets: [packet]",
                                 .at = "socket",
                                 .root = true,
                                 .modules = "af_packet",
                                 .lacking = {{EAFNOSUPPORT}}}) {
  const Fd fd = open_socket(AF_PACKET, SOCK_DGRAM, 0);
  send_on_loopback(fd, udp4_packet(kWire4, 9, ctx.token));
}
