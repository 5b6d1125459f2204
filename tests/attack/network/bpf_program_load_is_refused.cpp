// SPDX-License-Identifier: Apache-2.0
// A program of one's own, to attach somewhere. The program is the proof.
#include "tests/attack/lib/kernel.h"

using namespace attack;

ATTACK(bpf_program_load_is_refused, {.victim = Victim::attacker_file,
                                     .allow = kAudit,
                                     .at = "program load",
                                     .root = true,
                                     .machine_wide = true,
                                     .shows = "anon_inode:bpf-prog"}) {
  ctx.keep(bpf_allow_all_program());
}
