// SPDX-License-Identifier: Apache-2.0
// An unprivileged task starts a set-user-ID root program: the sandbox is not the user's. The report is that program's.
#include <grp.h>
#include <unistd.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(connect_from_set_user_id_program_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect", .root = true}) {
  must(setgroups(0, nullptr), "setgroups");
  must(setresgid(1000, 1000, 1000), "setresgid");
  must(setresuid(1000, 1000, 1000), "setresuid");
  exec_attack(ctx.text("suid_program"), "tcp4_connect_is_refused", ctx, "need_euid_0=1");
}
