// SPDX-License-Identifier: Apache-2.0
// cgroup.procs of another cgroup, opened for writing before: no hook sees the write. `sbpf attach` must look.
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(attach_with_open_cgroup_file_is_refused, {.victim = Victim::other_cgroup,
                                                 .allow = kNever,
                                                 .launch = Launch::attach_refused,
                                                 .root = true,
                                                 .machine_wide = true}) {
  const Fd procs = open_file(ctx.text("other_cgroup") + "/cgroup.procs", O_WRONLY);
  ctx.join();
  write_text(procs, std::to_string(getpid()));
}
