// SPDX-License-Identifier: Apache-2.0
// pidfd_getfd takes a connected socket out of another process.
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(pidfd_getfd_socket_theft_is_refused,
       {.victim = Victim::bystander_socket, .allow = kAudit, .at = "pidfd_getfd"}) {
  const Fd process(static_cast<int>(must(syscall(SYS_pidfd_open, ctx.number("bystander"), 0), "pidfd_open")));
  const Fd fd(
      static_cast<int>(must(syscall(SYS_pidfd_getfd, process.get(), ctx.number("bystander_fd"), 0), "pidfd_getfd")));
  send_text(fd, ctx.token);
}
