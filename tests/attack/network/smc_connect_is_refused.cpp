// SPDX-License-Identifier: Apache-2.0
// AF_SMC carries TCP in a family of its own.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(smc_connect_is_refused,
       {.victim = Victim::smc4, .allow = kAllowSmc4, .at = "socket", .modules = "smc", .lacking = {{EAFNOSUPPORT}}}) {
  const Fd fd = open_socket(AF_SMC, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
