// SPDX-License-Identifier: Apache-2.0
// The same address as an IPv6 socket spells it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(metadata_mapped_connect_is_refused, {.victim = Victim::metadata4,
                                            .allow = kAllowAllOf4,
                                            .deny = kAllOf4,
                                            .at = "connect",
                                            .root = true,
                                            .machine_wide = true}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  connect_to(fd, v6("::ffff:169.254.169.254", ctx.port));
  send_text(fd, ctx.token);
}
