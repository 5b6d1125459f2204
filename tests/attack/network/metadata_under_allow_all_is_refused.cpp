// SPDX-License-Identifier: Apache-2.0
// dangerously_allow_all does not open it either: it has to be said by its own name.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(metadata_under_allow_all_is_refused, {.victim = Victim::metadata4,
                                             .allow = "dangerously_allow_all: true\n  dangerously_allow_metadata: true",
                                             .deny = kAllowAll,
                                             .at = "connect",
                                             .root = true,
                                             .machine_wide = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4(kMetadata4, ctx.port));
  send_text(fd, ctx.token);
}
