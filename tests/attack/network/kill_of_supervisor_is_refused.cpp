// SPDX-License-Identifier: Apache-2.0
// The attacker's parent is `sbpf run`: its death must not be the sandbox's to decide. (In the control the parent is the
// driver, so the bystander stands for it.)
#include <unistd.h>

#include <csignal>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(kill_of_supervisor_is_refused, {.victim = Victim::bystander_life, .allow = kAudit, .at = "kill"}) {
  const pid_t target = ctx.denied ? getppid() : static_cast<pid_t>(ctx.number("bystander"));
  must(kill(target, SIGKILL), "kill");
}
