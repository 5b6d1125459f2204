// SPDX-License-Identifier: Apache-2.0
// A child cgroup inherits the sandbox. (An outside process moved the attacker there.)
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(connect_from_child_cgroup_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect", .launch = Launch::run_child}) {
  ctx.join();
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
