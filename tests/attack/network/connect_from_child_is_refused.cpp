// SPDX-License-Identifier: Apache-2.0
// A forked child is in the sandbox.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(connect_from_child_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  in_child([&] {
    const Fd fd = open_socket(AF_INET, SOCK_STREAM);
    connect_to(fd, v4("127.0.0.1", ctx.port));
    send_text(fd, ctx.token);
  });
}
