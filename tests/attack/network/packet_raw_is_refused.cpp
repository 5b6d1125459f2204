// SPDX-License-Identifier: Apache-2.0
// AF_PACKET with a frame header of one's own.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(packet_raw_is_refused, {.victim = Victim::wire4,
                               .allow = "dangerously_allow_sockets: [packet]",
                               .at = "socket",
                               .root = true,
                               .modules = "af_packet",
                               .lacking = {{EAFNOSUPPORT}}}) {
  const Fd fd = open_socket(AF_PACKET, SOCK_RAW, 0);
  send_on_loopback(fd, std::string("\0\0\0\0\0\0\0\0\0\0\0\0\x08\0", 14) + udp4_packet(kWire4, 9, ctx.token));
}
