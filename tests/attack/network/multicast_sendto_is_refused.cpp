// SPDX-License-Identifier: Apache-2.0
// A multicast group has an address like any other.
#include <net/if.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(multicast_sendto_is_refused,
       {.victim = Victim::udp_any,
        .allow = "connect: [{address: 239.255.83.66, ports: [{port}], protocol: udp}]\n  interfaces: [lo]",
        .deny = "connect: [{address: 127.0.0.1, ports: [{decoy}]}]\n  interfaces: [lo]",
        .at = "sendmsg"}) {
  in_pktinfo info{};
  info.ipi_ifindex = static_cast<int>(if_nametoindex("lo"));
  const std::string bytes(reinterpret_cast<const char*>(&info), sizeof info);
  send_message(open_socket(AF_INET, SOCK_DGRAM), ctx.token, v4(kMulticast, ctx.port), IPPROTO_IP, IP_PKTINFO, bytes);
}
