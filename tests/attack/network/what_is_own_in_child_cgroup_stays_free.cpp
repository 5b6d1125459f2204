// SPDX-License-Identifier: Apache-2.0
// What a process in a child cgroup of its sandbox's made there is the sandbox's own: its sockets, and its children.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(what_is_own_in_child_cgroup_stays_free,
       {.victim = Victim::tcp4, .launch = Launch::run_child, .harmless = true}) {
  ctx.join();
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  const Fd one(ends[0]), other(ends[1]);
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    pause();
    _exit(0);
  }
  const int killed = kill(child, SIGKILL), error = errno;
  if (killed == 0) waitpid(child, nullptr, 0);
  if (killed != 0) throw Failure{error, "kill"};
  send_text(one, ctx.token);
}
