// SPDX-License-Identifier: Apache-2.0
// Maps can be opened by number and edited.
#include "tests/attack/lib/kernel.h"

using namespace attack;

ATTACK(bpf_map_edit_by_id_is_refused,
       {.victim = Victim::bpf_map, .allow = kAudit, .at = "map by id", .root = true, .machine_wide = true}) {
  bpf_map_write(bpf_map_by_id(static_cast<unsigned>(ctx.number("map_id"))), 0, 83);
}
