// SPDX-License-Identifier: Apache-2.0
// An AF_PACKET socket hears and says what it likes on the wire; it was opened before.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(attach_with_packet_socket_is_refused, {.victim = Victim::wire4,
                                              .allow = "dangerously_allow_sockets: [packet]",
                                              .launch = Launch::attach_inside_refused,
                                              .root = true,
                                              .modules = "af_packet",
                                              .lacking = {{EAFNOSUPPORT}}}) {
  const Fd fd = open_socket(AF_PACKET, SOCK_DGRAM, 0);
  ctx.join();
  send_on_loopback(fd, udp4_packet(kWire4, 9, ctx.token));
}
