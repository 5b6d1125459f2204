// SPDX-License-Identifier: Apache-2.0
// The same with an O_PATH descriptor, for which no file is opened.
#include <fcntl.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(clone_into_other_cgroup_by_path_descriptor_is_refused,
       {.victim = Victim::tcp4, .allow = kAudit, .at = "clone3", .root = true, .machine_wide = true}) {
  const Fd cgroup = open_file(ctx.text("other_cgroup"), O_PATH | O_DIRECTORY);
  in_cgroup_child(cgroup.get(), [&] {
    const Fd fd = open_socket(AF_INET, SOCK_STREAM);
    connect_to(fd, v4("127.0.0.1", ctx.port));
    send_text(fd, ctx.token);
  });
}
