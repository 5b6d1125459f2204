// SPDX-License-Identifier: Apache-2.0
// PTRACE_TRACEME gives the attacker's parent, outside, an unasked-for tracee whose system calls it carries out.
#include <sys/ptrace.h>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(trace_by_outside_parent_is_refused, {.victim = Victim::tracer, .allow = kAudit, .at = "ptrace"}) {
  must(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr), "ptrace");
}
