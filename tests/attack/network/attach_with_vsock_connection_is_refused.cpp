// SPDX-License-Identifier: Apache-2.0
// A connection of AF_VSOCK from before.
#include <linux/vm_sockets.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(attach_with_vsock_connection_is_refused, {.victim = Victim::vsock,
                                                 .allow = "dangerously_allow_sockets: [vsock]",
                                                 .launch = Launch::attach_inside_refused,
                                                 .modules = "vsock vsock_loopback",
                                                 .lacking = {{EAFNOSUPPORT, ENODEV, ETIMEDOUT}}}) {
  const Fd fd = open_socket(AF_VSOCK, SOCK_STREAM);
  connect_to(fd, vsock(VMADDR_CID_LOCAL, ctx.port));
  ctx.join();
  send_text(fd, ctx.token);
}
