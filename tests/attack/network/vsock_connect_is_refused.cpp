// SPDX-License-Identifier: Apache-2.0
// AF_VSOCK reaches the host of a virtual machine, and this machine itself, past all IP hooks.
#include <linux/vm_sockets.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(vsock_connect_is_refused, {.victim = Victim::vsock,
                                  .allow = "dangerously_allow_sockets: [vsock]",
                                  .at = "socket",
                                  .modules = "vsock vsock_loopback",
                                  .lacking = {{EAFNOSUPPORT, ENODEV, ETIMEDOUT}}}) {
  const Fd fd = open_socket(AF_VSOCK, SOCK_STREAM);
  const timeval limit = {5, 0};
  set_option(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &limit, sizeof(limit));
  connect_to(fd, vsock(VMADDR_CID_LOCAL, ctx.port));
  send_text(fd, ctx.token);
}
