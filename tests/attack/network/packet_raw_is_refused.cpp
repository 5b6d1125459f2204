// SPDX-License-Identifier: Apache-2.0
// AF_PACKET with a frame header of one's own.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>

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
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_IP);
  to.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
  to.sll_halen = ETH_ALEN;
  const std::string packet = std::string("\0\0\0\0\0\0\0\0\0\0\0\0\x08\0", 14) + udp4_packet(kWire4, 9, ctx.token);
  must(sendto(fd.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to)), "sendto");
}
