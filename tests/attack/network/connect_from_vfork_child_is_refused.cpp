// SPDX-License-Identifier: Apache-2.0
// A child that shares the memory, as vfork makes.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(connect_from_vfork_child_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  in_vfork_like_child([&] {
    const Fd fd = open_socket(AF_INET, SOCK_STREAM);
    connect_to(fd, v4("127.0.0.1", ctx.port));
    send_text(fd, ctx.token);
  });
}
