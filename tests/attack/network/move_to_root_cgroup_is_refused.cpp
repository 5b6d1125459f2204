// SPDX-License-Identifier: Apache-2.0
// Writing one's pid into the root cgroup. (The control starts elsewhere.)
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(move_to_root_cgroup_is_refused,
       {.victim = Victim::other_cgroup, .allow = kAudit, .at = "open", .root = true, .machine_wide = true}) {
  move_to_cgroup(ctx.text("cgroup_root"));
}
