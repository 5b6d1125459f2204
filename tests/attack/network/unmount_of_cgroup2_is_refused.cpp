// SPDX-License-Identifier: Apache-2.0
// Cgroup2 unmounted.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(unmount_of_cgroup2_is_refused, {.victim = Victim::mount_cgroup, .allow = kAudit, .at = "umount", .root = true}) {
  private_mounts();
  must(umount2(ctx.text("cgroup_root").c_str(), MNT_DETACH), "umount");
}
