// SPDX-License-Identifier: Apache-2.0
// A netlink socket that is none of NETLINK_ROUTE, opened before.
#include <linux/netlink.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(attach_with_netlink_socket_is_refused, {.victim = Victim::netlink_user,
                                               .allow = "dangerously_allow_sockets: [netlink]",
                                               .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
  ctx.join();
  send_text_to(fd, ctx.token, netlink(static_cast<unsigned>(ctx.number("netlink_port"))));
}
