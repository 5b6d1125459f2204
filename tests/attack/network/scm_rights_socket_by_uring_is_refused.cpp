// SPDX-License-Identifier: Apache-2.0
// The same, received by io_uring.
#include <unistd.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(scm_rights_socket_by_uring_is_refused,
       {.victim = Victim::bystander_socket, .at = "recvmsg", .input = Stdin::unix_stream}) {
  must(send(STDIN_FILENO, "send me a socket", 16, 0), "send on stdin");
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 0;
  iovec part = {&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  Ring ring;
  io_uring_prep_recvmsg(ring.request(), STDIN_FILENO, &message, 0);
  ring.complete("recvmsg call");
  const Fd fd = fd_of_message(message);
  send_text(fd, ctx.token);
}
