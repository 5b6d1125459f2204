// SPDX-License-Identifier: Apache-2.0
// /proc/PID/ns/net of an outside process. The kernel turns the refusal into EACCES. Attached, as `sbpf run` shows no
// processes but the sandbox's own.
#include <fcntl.h>
#include <sched.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(netns_of_outside_process_is_refused, {.victim = Victim::bystander_socket,
                                             .allow = kAudit,
                                             .expected = EACCES,
                                             .at = "open",
                                             .launch = Launch::attach,
                                             .root = true}) {
  ctx.join();
  const Fd other = open_file("/proc/" + ctx.text("bystander") + "/ns/net", O_RDONLY);
  must(setns(other.get(), CLONE_NEWNET), "setns");
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
