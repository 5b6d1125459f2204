// SPDX-License-Identifier: Apache-2.0
// A socket with a source route, set before the process joined, then used with an allowed address.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_source_route_is_refused,
       {.victim = Victim::wire4, .at = "sendto", .launch = Launch::attach, .may_need_root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  const std::string route = loose_source_route(kWire4);
  set_option(fd, IPPROTO_IP, IP_OPTIONS, route.data(), route.size());
  ctx.join();
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.decoy));
}
