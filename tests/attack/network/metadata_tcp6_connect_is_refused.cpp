// SPDX-License-Identifier: Apache-2.0
// The IPv6 address of AWS, under a policy that opens all private addresses of IPv6.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(metadata_tcp6_connect_is_refused, {.victim = Victim::metadata6,
                                          .allow = kAllowAllOf6,
                                          .deny = kAllOf6,
                                          .at = "connect",
                                          .root = true,
                                          .machine_wide = true}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  connect_to(fd, v6(kMetadata6, ctx.port));
  send_text(fd, ctx.token);
}
