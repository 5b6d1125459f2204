// SPDX-License-Identifier: Apache-2.0
// Writing into an outside process without tracing it.
#include <sys/uio.h>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(process_vm_writev_is_refused, {.victim = Victim::bystander_memory, .allow = kAudit, .at = "process_vm_writev"}) {
  const iovec from = {ctx.token.data(), ctx.token.size()};
  const iovec to = {reinterpret_cast<void*>(ctx.number("bystander_memory")), ctx.token.size()};
  must(process_vm_writev(static_cast<pid_t>(ctx.number("bystander")), &from, 1, &to, 1, 0), "process_vm_writev");
}
