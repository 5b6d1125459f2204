// SPDX-License-Identifier: Apache-2.0
// The BPF file system unmounted.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(unmount_of_bpffs_is_refused, {.victim = Victim::mount_bpffs, .allow = kAudit, .at = "umount", .root = true}) {
  private_mounts();
  must(umount2("/sys/fs/bpf", MNT_DETACH), "umount");
}
