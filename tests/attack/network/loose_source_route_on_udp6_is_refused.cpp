// SPDX-License-Identifier: Apache-2.0
// An IPv6 socket takes IP options too, for mapped destinations.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(loose_source_route_on_udp6_is_refused, {.victim = Victim::wire4, .at = "setsockopt", .may_need_root = true}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const std::string route = loose_source_route(kWire4);
  set_option(fd, IPPROTO_IP, IP_OPTIONS, route.data(), route.size());
  send_text_to(fd, ctx.token, v6("::ffff:127.0.0.1", ctx.decoy));
}
