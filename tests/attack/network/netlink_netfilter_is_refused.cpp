// SPDX-License-Identifier: Apache-2.0
// NETLINK_NETFILTER edits the packet filter, given NET_ADMIN; a sandbox gets neither.
#include <linux/netlink.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(netlink_netfilter_is_refused, {.victim = Victim::attacker_socket,
                                      .allow = "dangerously_allow_sockets: [netlink]",
                                      .at = "socket",
                                      .modules = "nfnetlink",
                                      .lacking = {{EPROTONOSUPPORT}},
                                      .shows = "16 3 12"}) {
  Fd fd = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
  bind_to(fd, netlink(0));
  ctx.keep(std::move(fd));
}
