// SPDX-License-Identifier: Apache-2.0
// An AF_PACKET socket hears and says what it likes on the wire; it was opened before.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>

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
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_IP);
  to.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
  to.sll_halen = ETH_ALEN;
  const std::string packet = udp4_packet(kWire4, 9, ctx.token);
  must(sendto(fd.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to)), "sendto");
}
