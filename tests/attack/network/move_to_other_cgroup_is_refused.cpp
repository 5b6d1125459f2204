// SPDX-License-Identifier: Apache-2.0
// Writing one's pid into another cgroup.
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(move_to_other_cgroup_is_refused,
       {.victim = Victim::other_cgroup, .allow = kAudit, .at = "open", .root = true, .machine_wide = true}) {
  move_to_cgroup(ctx.text("other_cgroup"));
}
