// SPDX-License-Identifier: Apache-2.0
// The same by pidfd_send_signal.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(signal_by_pidfd_is_refused, {.victim = Victim::bystander_life, .allow = kAudit, .at = "pidfd_send_signal"}) {
  const Fd process(static_cast<int>(must(syscall(SYS_pidfd_open, ctx.number("bystander"), 0), "pidfd_open")));
  must(syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0), "pidfd_send_signal");
}
