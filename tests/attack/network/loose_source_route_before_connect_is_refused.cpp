// SPDX-License-Identifier: Apache-2.0
// The option on a socket that then connects to an allowed address.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(loose_source_route_before_connect_is_refused,
       {.victim = Victim::wire4, .at = "setsockopt", .may_need_root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  const std::string route = loose_source_route(kWire4);
  set_option(fd, IPPROTO_IP, IP_OPTIONS, route.data(), route.size());
  connect_to(fd, v4("127.0.0.1", ctx.decoy));
  send_text(fd, ctx.token);
}
