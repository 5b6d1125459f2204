// SPDX-License-Identifier: Apache-2.0
// Something else mounted over sysfs, and over securityfs, both at their roots and below them.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

void mount_over(const char* place) {
  private_mounts();
  must(mount("none", place, "tmpfs", 0, nullptr), "mount");
}

}  // namespace

ATTACK(mount_over_sysfs_is_refused, {.victim = Victim::mount_sysfs, .allow = kAudit, .at = "mount", .root = true}) {
  mount_over("/sys");
}

ATTACK(mount_over_securityfs_is_refused,
       {.victim = Victim::mount_securityfs, .allow = kAudit, .at = "mount", .root = true}) {
  mount_over("/sys/kernel/security");
}
