// SPDX-License-Identifier: Apache-2.0
// IP_PKTINFO in ancillary data chooses the source and the interface, not the destination: the address is judged.
#include <net/if.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(packet_info_sendto_is_refused, {.victim = Victim::udp4, .allow = kAllowUdp4, .at = "sendmsg"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  in_pktinfo info{};
  info.ipi_ifindex = static_cast<int>(if_nametoindex("lo"));
  const std::string bytes(reinterpret_cast<char*>(&info), sizeof(info));
  send_message(fd, ctx.token, v4("127.0.0.1", ctx.port), IPPROTO_IP, IP_PKTINFO, bytes);
}
