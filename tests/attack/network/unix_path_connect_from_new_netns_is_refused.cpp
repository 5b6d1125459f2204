// SPDX-License-Identifier: Apache-2.0
// AF_UNIX paths cross network namespaces.
#include <sched.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(unix_path_connect_from_new_netns_is_refused, {.victim = Victim::unix_stream, .at = "connect"}) {
  must(unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  connect_to(fd, unix_path(ctx.text("path")));
  send_text(fd, ctx.token);
}
