// SPDX-License-Identifier: Apache-2.0
// The LSM layer finds the sandbox from a child cgroup too.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_connect_from_child_cgroup_is_refused,
       {.victim = Victim::unix_stream, .at = "connect", .launch = Launch::run_child}) {
  ctx.join();
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  connect_to(fd, unix_path(ctx.text("path")));
  send_text(fd, ctx.token);
}
