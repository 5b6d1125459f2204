// SPDX-License-Identifier: Apache-2.0
// F_SETOWN and F_SETSIG make the kernel send the signal. No task_kill hook runs then, but
// file_send_sigiotask.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(signal_by_descriptor_owner_is_refused,
       {.victim = Victim::bystander_life, .allow = kAudit, .expected = EPERM, .at = "signal"}) {
  int ends[2];
  must(pipe2(ends, O_CLOEXEC), "pipe");
  const Fd read_end(ends[0]), write_end(ends[1]);
  must(fcntl(read_end.get(), F_SETSIG, SIGKILL), "F_SETSIG");
  must(fcntl(read_end.get(), F_SETOWN, static_cast<int>(ctx.number("bystander"))), "F_SETOWN");
  must(fcntl(read_end.get(), F_SETFL, O_ASYNC), "F_SETFL");
  must(write(write_end.get(), "x", 1), "write");
  usleep(50000);
  if (ctx.denied) throw Failure{EPERM, "signal"};  // nothing tells the attacker; the driver looks whether it arrived
}
