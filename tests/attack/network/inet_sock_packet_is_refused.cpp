// SPDX-License-Identifier: Apache-2.0
// AF_INET with type SOCK_PACKET is AF_PACKET by its oldest name.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>

#include <cstring>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(inet_sock_packet_is_refused, {.victim = Victim::wire4,
                                     .allow = "dangerously_allow_sockets: [packet]",
                                     .at = "socket",
                                     .root = true,
                                     .modules = "af_packet",
                                     .lacking = {{EAFNOSUPPORT, ESOCKTNOSUPPORT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_PACKET, htons(ETH_P_ALL));
  sockaddr_pkt to{};
  to.spkt_family = AF_INET;
  std::memcpy(to.spkt_device, "lo", 3);
  to.spkt_protocol = htons(ETH_P_IP);
  const std::string packet = std::string("\0\0\0\0\0\0\0\0\0\0\0\0\x08\0", 14) + udp4_packet(kWire4, 9, ctx.token);
  must(sendto(fd.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to)), "sendto");
}
