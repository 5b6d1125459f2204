// SPDX-License-Identifier: Apache-2.0
// A netlink socket opened before the process joined.
#include <linux/netlink.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_netlink_socket_is_refused, {.victim = Victim::netlink_user, .at = "sendto", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
  ctx.join();
  send_text_to(fd, ctx.token, netlink(static_cast<unsigned>(ctx.number("netlink_port"))));
}
