// SPDX-License-Identifier: Apache-2.0
// Unlinking pins: an LSM link lives as long as its pin.
#include <unistd.h>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(bpf_pin_removal_is_refused,
       {.victim = Victim::bpf_pin, .allow = kAudit, .at = "unlink", .root = true, .machine_wide = true}) {
  must(unlink(ctx.text("pin").c_str()), "unlink");
}
