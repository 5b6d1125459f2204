// SPDX-License-Identifier: Apache-2.0
// Root of a container's user namespace sets up the network namespace that goes with it, which may be connected to
// others: routes and tunnels there make an allowed address mean another host. The address is the proof.
#include <linux/netlink.h>
#include <sched.h>

#include "tests/attack/lib/kernel.h"
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(net_admin_in_user_namespace_is_refused,
       {.at = "netlink ack", .launch = Launch::attach, .claims = "the address is in a network namespace of its own"}) {
  must(unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
  ctx.join();
  change_lo_address(open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), true, "192.0.2.83");
}
