// SPDX-License-Identifier: Apache-2.0
// Writing into an outside process by ptrace: it can be made to do anything.
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cstring>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(ptrace_of_outside_process_is_refused, {.victim = Victim::bystander_memory, .allow = kAudit, .at = "ptrace"}) {
  const auto target = static_cast<pid_t>(ctx.number("bystander"));
  must(ptrace(PTRACE_ATTACH, target, nullptr, nullptr), "ptrace");
  must(waitpid(target, nullptr, __WALL), "waitpid");
  long word = 0;
  std::memcpy(&word, ctx.token.data(), sizeof(word));
  auto* where = reinterpret_cast<void*>(ctx.number("bystander_memory"));
  must(ptrace(PTRACE_POKEDATA, target, where, word), "poke");
  must(ptrace(PTRACE_DETACH, target, nullptr, nullptr), "detach");
}
