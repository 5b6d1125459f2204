// SPDX-License-Identifier: Apache-2.0
// The same as ancillary data.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(loose_source_route_in_ancillary_data_on_udp6_is_refused,
       {.victim = Victim::wire4, .at = "sendmsg", .may_need_root = true}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  send_message(fd, ctx.token, v6("::ffff:127.0.0.1", ctx.decoy), IPPROTO_IP, IP_RETOPTS, loose_source_route(kWire4));
}
