// SPDX-License-Identifier: Apache-2.0
// The mark of a single message.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(so_mark_in_ancillary_data_is_refused, {.victim = Victim::udp4,
                                              .deny = "connect: [{address: 127.0.0.1, ports: [{port}], protocol: udp}]",
                                              .at = "sendmsg",
                                              .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  send_message(fd, ctx.token, v4("127.0.0.1", ctx.port), SOL_SOCKET, SO_MARK, std::string("\x53\0\0\0", 4));
}
