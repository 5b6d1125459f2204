// SPDX-License-Identifier: Apache-2.0
// /proc/PID/mem of an outside process. Attached, as `sbpf run` shows no processes but the sandbox's own.
#include <fcntl.h>
#include <unistd.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(proc_mem_write_is_refused,
       {.victim = Victim::bystander_memory, .allow = kAudit, .at = "open", .launch = Launch::attach}) {
  ctx.join();
  const Fd memory = open_file("/proc/" + ctx.text("bystander") + "/mem", O_RDWR);
  must(pwrite(memory.get(), ctx.token.data(), ctx.token.size(), ctx.number("bystander_memory")), "pwrite");
}
