// SPDX-License-Identifier: Apache-2.0
// The connect that a send carries out.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(metadata_by_tcp_fastopen_is_refused, {.victim = Victim::metadata4,
                                             .allow = kAllowAllOf4,
                                             .deny = kAllOf4,
                                             .at = "sendto",
                                             .root = true,
                                             .machine_wide = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  send_text_to(fd, ctx.token, v4(kMetadata4, ctx.port), MSG_FASTOPEN);
}
