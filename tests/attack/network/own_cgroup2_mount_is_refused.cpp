// SPDX-License-Identifier: Apache-2.0
// Another mount of cgroup2, elsewhere: the same files.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(own_cgroup2_mount_is_refused,
       {.victim = Victim::other_cgroup, .allow = kAudit, .at = "open", .root = true, .machine_wide = true}) {
  private_mounts();
  must(mount("none", "/tmp", "cgroup2", 0, nullptr), "mount");
  move_to_cgroup("/tmp" + ctx.text("other_cgroup").substr(ctx.text("cgroup_root").size()));
}
