// SPDX-License-Identifier: Apache-2.0
// A cgroup below one's own: none is made, and its cgroup.procs would be closed, too.
#include <sys/stat.h>

#include <string>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(move_to_own_child_cgroup_is_refused,
       {.victim = Victim::other_cgroup, .allow = kAudit, .at = "mkdir", .root = true, .machine_wide = true}) {
  const std::string child = own_cgroup(ctx) + "/sbpf-attack-own";
  must(mkdir(child.c_str(), 0755), "mkdir");
  move_to_cgroup(child);
}
