// SPDX-License-Identifier: Apache-2.0
// mount(MS_MOVE) takes cgroup2 away: the hook gets the target, the victim is the source.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(move_of_cgroup2_mount_is_refused,
       {.victim = Victim::mount_cgroup, .allow = kAudit, .at = "mount", .root = true}) {
  private_mounts();
  must(mount(ctx.text("cgroup_root").c_str(), "/tmp", nullptr, MS_MOVE, nullptr), "mount");
}
