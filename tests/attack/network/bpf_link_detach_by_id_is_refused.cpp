// SPDX-License-Identifier: Apache-2.0
// Links of cgroup programs can be opened by number and detached.
#include "tests/attack/lib/kernel.h"

using namespace attack;

ATTACK(bpf_link_detach_by_id_is_refused,
       {.victim = Victim::bpf_link, .allow = kAudit, .at = "link by id", .root = true, .machine_wide = true}) {
  bpf_link_detach(bpf_link_by_id(static_cast<unsigned>(ctx.number("link_id"))));
}
