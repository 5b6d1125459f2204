// SPDX-License-Identifier: Apache-2.0
// cgroup.procs of another cgroup, opened for writing by an outside process and sent over stdin.
#include <unistd.h>

#include <string>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(scm_rights_cgroup_file_is_refused, {.victim = Victim::other_cgroup,
                                           .allow = kAudit,
                                           .at = "recvmsg",
                                           .input = Stdin::unix_stream,
                                           .root = true,
                                           .machine_wide = true}) {
  const Fd procs = receive_fd(STDIN_FILENO);
  write_text(procs, std::to_string(getpid()));
}

// A setting of the kernel's, likewise.
ATTACK(scm_rights_control_file_is_refused, {.victim = Victim::net_sysctl,
                                            .allow = kAudit,
                                            .at = "recvmsg",
                                            .input = Stdin::unix_stream,
                                            .root = true,
                                            .machine_wide = true}) {
  write_text(receive_fd(STDIN_FILENO), ctx.text("value"));
}
