// SPDX-License-Identifier: Apache-2.0
// A connected socket, sent by an outside process over the stream that the operator handed over as stdin. That stream
// keeps working; the descriptor is withheld.
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(scm_rights_socket_is_refused,
       {.victim = Victim::bystander_socket, .at = "recvmsg", .input = Stdin::unix_stream}) {
  must(send(STDIN_FILENO, "send me a socket", 16, 0), "send on stdin");
  const Fd fd = receive_fd(STDIN_FILENO);
  send_text(fd, ctx.token);
}
