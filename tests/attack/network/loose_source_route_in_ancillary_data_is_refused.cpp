// SPDX-License-Identifier: Apache-2.0
// IP_RETOPTS in sendmsg: no setsockopt at all.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(loose_source_route_in_ancillary_data_is_refused,
       {.victim = Victim::wire4, .at = "sendmsg", .may_need_root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  send_message(fd, ctx.token, v4("127.0.0.1", ctx.decoy), IPPROTO_IP, IP_RETOPTS, loose_source_route(kWire4));
}

// Where a policy opens raw sockets, it opens CAP_NET_RAW too, which later kernels ask for: only sbpf is left to refuse
// it.
ATTACK(loose_source_route_in_ancillary_data_beside_raw_sockets_is_refused,
       {.victim = Victim::wire4, .deny = kDenyBesideRaw, .at = "sendmsg", .may_need_root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  send_message(fd, ctx.token, v4("127.0.0.1", ctx.decoy), IPPROTO_IP, IP_RETOPTS, loose_source_route(kWire4));
}
