// SPDX-License-Identifier: Apache-2.0
// Something else mounted over the BPF file system.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(mount_over_bpffs_is_refused, {.victim = Victim::mount_bpffs, .allow = kAudit, .at = "mount", .root = true}) {
  private_mounts();
  must(mount("none", "/sys/fs/bpf", "tmpfs", 0, nullptr), "mount");
}
