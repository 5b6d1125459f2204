// SPDX-License-Identifier: Apache-2.0
// Renaming a pin hides it from the agent.
#include <cstdio>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(bpf_pin_rename_is_refused,
       {.victim = Victim::bpf_pin, .allow = kAudit, .at = "rename", .root = true, .machine_wide = true}) {
  must(std::rename(ctx.text("pin").c_str(), (ctx.text("pin") + "-moved").c_str()), "rename");
}
