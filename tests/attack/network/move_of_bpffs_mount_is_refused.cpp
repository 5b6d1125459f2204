// SPDX-License-Identifier: Apache-2.0
// mount(MS_MOVE) takes the BPF file system away: the hook gets the target, the victim is the source.
#include <sys/mount.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(move_of_bpffs_mount_is_refused, {.victim = Victim::mount_bpffs, .allow = kAudit, .at = "mount", .root = true}) {
  private_mounts();
  must(mount("/sys/fs/bpf", "/tmp", nullptr, MS_MOVE, nullptr), "mount");
}
