// SPDX-License-Identifier: Apache-2.0
// The same by write(2).
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_connection_write_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "write", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  must(write(fd.get(), ctx.token.data(), ctx.token.size()), "write");
}
