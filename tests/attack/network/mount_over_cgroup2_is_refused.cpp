// SPDX-License-Identifier: Apache-2.0
// Something else mounted over cgroup2.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(mount_over_cgroup2_is_refused, {.victim = Victim::mount_cgroup, .allow = kAudit, .at = "mount", .root = true}) {
  private_mounts();
  must(mount("none", ctx.text("cgroup_root").c_str(), "tmpfs", 0, nullptr), "mount");
}
