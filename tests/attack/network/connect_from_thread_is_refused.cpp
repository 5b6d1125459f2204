// SPDX-License-Identifier: Apache-2.0
// A thread other than the first.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(connect_from_thread_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  in_thread([&] {
    const Fd fd = open_socket(AF_INET, SOCK_STREAM);
    connect_to(fd, v4("127.0.0.1", ctx.port));
    send_text(fd, ctx.token);
  });
}
