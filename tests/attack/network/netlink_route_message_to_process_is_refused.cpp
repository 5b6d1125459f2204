// SPDX-License-Identifier: Apache-2.0
// NETLINK_ROUTE, which a sandbox may use to ask for interfaces, also carries messages to other processes; that needs
// NET_ADMIN.
#include <linux/netlink.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(netlink_route_message_to_process_is_refused, {.victim = Victim::netlink_route, .at = "sendto", .root = true}) {
  const Fd fd = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  send_text_to(fd, ctx.token, netlink(static_cast<unsigned>(ctx.number("netlink_port"))));
}
