// SPDX-License-Identifier: Apache-2.0
// Out of the network namespace and back in by setns: rules follow the cgroup.
#include <fcntl.h>
#include <sched.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(connect_after_return_to_host_netns_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect", .root = true}) {
  const Fd host = open_file("/proc/self/ns/net", O_RDONLY);
  must(unshare(CLONE_NEWNET), "unshare");
  must(setns(host.get(), CLONE_NEWNET), "setns");
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
