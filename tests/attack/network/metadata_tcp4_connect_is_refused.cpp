// SPDX-License-Identifier: Apache-2.0
// A policy that opens all of IPv4 does not open what gives out the machine's credentials, unless it says so.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(metadata_tcp4_connect_is_refused, {.victim = Victim::metadata4,
                                          .allow = kAllowAllOf4,
                                          .deny = kAllOf4,
                                          .at = "connect",
                                          .root = true,
                                          .machine_wide = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4(kMetadata4, ctx.port));
  send_text(fd, ctx.token);
}
