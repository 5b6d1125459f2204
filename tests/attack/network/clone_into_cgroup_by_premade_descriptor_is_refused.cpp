// SPDX-License-Identifier: Apache-2.0
// The same with a descriptor from before the process joined.
#include <fcntl.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(clone_into_cgroup_by_premade_descriptor_is_refused, {.victim = Victim::tcp4,
                                                            .allow = kAudit,
                                                            .at = "clone3",
                                                            .launch = Launch::attach,
                                                            .root = true,
                                                            .machine_wide = true}) {
  const Fd cgroup = open_file(ctx.text("other_cgroup"), O_PATH | O_DIRECTORY);
  ctx.join();
  in_cgroup_child(cgroup.get(), [&] {
    const Fd fd = open_socket(AF_INET, SOCK_STREAM);
    connect_to(fd, v4("127.0.0.1", ctx.port));
    send_text(fd, ctx.token);
  });
}
