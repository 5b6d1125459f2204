// SPDX-License-Identifier: Apache-2.0
// A signal to an outside process; in the denied run to the supervisor as well, which is the attacker's parent.
#include <csignal>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(kill_of_outside_process_is_refused, {.victim = Victim::bystander_life, .allow = kAudit, .at = "kill"}) {
  must(kill(static_cast<pid_t>(ctx.number("bystander")), SIGKILL), "kill");
}
