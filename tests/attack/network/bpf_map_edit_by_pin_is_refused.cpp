// SPDX-License-Identifier: Apache-2.0
// Or opened by their pins.
#include "tests/attack/lib/kernel.h"

using namespace attack;

ATTACK(bpf_map_edit_by_pin_is_refused,
       {.victim = Victim::bpf_pin, .allow = kAudit, .at = "get pinned", .root = true, .machine_wide = true}) {
  bpf_map_write(bpf_pinned(ctx.text("pin")), 0, 83);
}
