// SPDX-License-Identifier: Apache-2.0
// NETLINK_USERSOCK is a message queue to any process of the machine.
#include <linux/netlink.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(netlink_usersock_is_refused,
       {.victim = Victim::netlink_user, .allow = "dangerously_allow_sockets: [netlink]", .at = "socket"}) {
  const Fd fd = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
  send_text_to(fd, ctx.token, netlink(static_cast<unsigned>(ctx.number("netlink_port"))));
}
