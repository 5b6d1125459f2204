// SPDX-License-Identifier: Apache-2.0
// Something else moved over cgroup2 by move_mount(2).
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(move_mount_over_cgroup2_is_refused,
       {.victim = Victim::mount_cgroup, .allow = kAudit, .at = "move_mount", .root = true}) {
  private_mounts();
  const Fd tree(static_cast<int>(
      must(syscall(SYS_open_tree, AT_FDCWD, "/tmp", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), "open_tree")));
  must(move_mount(tree.get(), "", AT_FDCWD, ctx.text("cgroup_root").c_str(), MOVE_MOUNT_F_EMPTY_PATH), "move_mount");
}
