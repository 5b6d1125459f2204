// SPDX-License-Identifier: Apache-2.0
// With an address of its own on lo a sandbox could take the place of an allowed endpoint. Needs NET_ADMIN.
#include <linux/netlink.h>

#include "tests/attack/lib/kernel.h"
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(netlink_route_add_address_is_refused, {.victim = Victim::lo_address, .at = "netlink ack", .root = true}) {
  const Fd fd = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  change_lo_address(fd, true, "192.0.2.83");
}
