// SPDX-License-Identifier: Apache-2.0
// From 6.11 on SMC can also be asked for as a protocol of AF_INET.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(smc_as_inet_protocol_is_refused, {.victim = Victim::smc4,
                                         .allow = kAllowSmc4,
                                         .at = "socket",
                                         .modules = "smc",
                                         .lacking = {{EPROTONOSUPPORT, ESOCKTNOSUPPORT, EINVAL}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM, 256);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
