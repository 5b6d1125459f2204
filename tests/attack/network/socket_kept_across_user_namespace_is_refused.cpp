// SPDX-License-Identifier: Apache-2.0
// A socket of the host's network, kept across unshare(NEWUSER|NEWNET): full capabilities there, the same rules.
#include <sched.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(socket_kept_across_user_namespace_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect", .lacking = {{}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  must(unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
