// SPDX-License-Identifier: Apache-2.0
// Root in the host's user namespace owns /proc/sys. The kernel starts the core dump program outside every
// sandbox.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(core_pattern_program_is_refused,
       {.victim = Victim::core_pattern, .allow = kAudit, .at = "open", .root = true, .machine_wide = true}) {
  const Fd pattern = open_file("/proc/sys/kernel/core_pattern", O_WRONLY);
  write_text(pattern, "|" + ctx.text("program") + " core " + std::to_string(ctx.port) + " " + ctx.token);
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &unlimited);
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}
