// SPDX-License-Identifier: Apache-2.0
// /proc/PID/mem of an outside process.
#include <fcntl.h>
#include <unistd.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(proc_mem_write_is_refused,
       {.victim = Victim::bystander_memory, .allow = kAudit, .at = "open"}) {
  const Fd memory = open_file("/proc/" + ctx.text("bystander") + "/mem", O_RDWR);
  must(pwrite(memory.get(), ctx.token.data(), ctx.token.size(), ctx.number("bystander_memory")), "pwrite");
}
