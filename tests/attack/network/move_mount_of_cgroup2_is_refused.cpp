// SPDX-License-Identifier: Apache-2.0
// The same by move_mount(2).
#include <fcntl.h>
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(move_mount_of_cgroup2_is_refused,
       {.victim = Victim::mount_cgroup, .allow = kAudit, .at = "move_mount", .root = true}) {
  private_mounts();
  must(move_mount(AT_FDCWD, ctx.text("cgroup_root").c_str(), AT_FDCWD, "/tmp", 0), "move_mount");
}
