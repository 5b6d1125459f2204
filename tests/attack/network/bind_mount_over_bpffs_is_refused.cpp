// SPDX-License-Identifier: Apache-2.0
// A directory bound over the BPF file system.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(bind_mount_over_bpffs_is_refused,
       {.victim = Victim::mount_bpffs, .allow = kAudit, .at = "mount", .root = true}) {
  private_mounts();
  must(mount("/tmp", "/sys/fs/bpf", nullptr, MS_BIND, nullptr), "mount");
}
