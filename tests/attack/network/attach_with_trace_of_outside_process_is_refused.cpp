// SPDX-License-Identifier: Apache-2.0
// A process outside that is traced already when the policy comes: no hook sees what its tracer does with it.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

void trace_and_write(const Context& ctx) {
  const auto target = static_cast<pid_t>(ctx.number("bystander"));
  must(ptrace(PTRACE_SEIZE, target, nullptr, nullptr), "ptrace");
  ctx.join();
  must(ptrace(PTRACE_INTERRUPT, target, nullptr, nullptr), "interrupt");
  must(waitpid(target, nullptr, __WALL), "waitpid");
  long word = 0;
  std::memcpy(&word, ctx.token.data(), sizeof(word));
  auto* where = reinterpret_cast<void*>(ctx.number("bystander_memory"));
  must(ptrace(PTRACE_POKEDATA, target, where, word), "poke");
  must(ptrace(PTRACE_DETACH, target, nullptr, nullptr), "detach");
}

}  // namespace

ATTACK(attach_with_trace_of_outside_process_is_refused,
       {.victim = Victim::bystander_memory, .allow = kNever, .launch = Launch::attach_refused}) {
  trace_and_write(ctx);
}

// The tracer is a thread, whose number is not its process's.
ATTACK(attach_with_trace_by_thread_of_outside_process_is_refused,
       {.victim = Victim::bystander_memory, .allow = kNever, .launch = Launch::attach_refused}) {
  in_thread([&] { trace_and_write(ctx); });
}

// One's own child, which is inside as well, stays free.
ATTACK(attach_with_trace_of_own_child_is_free,
       {.victim = Victim::bystander_memory, .launch = Launch::attach_inside_refused, .harmless = true}) {
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    for (;;) pause();
  }
  must(ptrace(PTRACE_SEIZE, child, nullptr, nullptr), "ptrace");
  ctx.join();
  must(ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr), "interrupt");
  must(waitpid(child, nullptr, __WALL), "waitpid");
  must(kill(child, SIGKILL), "kill");
  must(waitpid(child, nullptr, __WALL), "waitpid");
}
