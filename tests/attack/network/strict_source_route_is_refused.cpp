// SPDX-License-Identifier: Apache-2.0
// SSRR: the same with the strict option.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(strict_source_route_is_refused, {.victim = Victim::wire4, .at = "setsockopt", .may_need_root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  std::string route = loose_source_route(kWire4);
  route[0] = static_cast<char>(137);
  set_option(fd, IPPROTO_IP, IP_OPTIONS, route.data(), route.size());
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.decoy));
}
