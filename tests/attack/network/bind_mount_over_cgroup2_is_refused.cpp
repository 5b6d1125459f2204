// SPDX-License-Identifier: Apache-2.0
// A directory bound over cgroup2.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(bind_mount_over_cgroup2_is_refused,
       {.victim = Victim::mount_cgroup, .allow = kAudit, .at = "mount", .root = true}) {
  private_mounts();
  must(mount("/tmp", ctx.text("cgroup_root").c_str(), nullptr, MS_BIND, nullptr), "mount");
}
