// SPDX-License-Identifier: Apache-2.0
// IPV6_2292PKTOPTIONS: ancillary data as a socket option, routing header included.
#include <cstring>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv6_packet_options_are_refused, {.victim = Victim::wire6,
                                         .deny = "connect: [{address: \"::1\", ports: [{decoy}]}]",
                                         .at = "setsockopt",
                                         .lacking = {{EINVAL}}}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  const std::string route = home_route(kWire6);
  alignas(cmsghdr) char control[128] = {};
  auto* item = reinterpret_cast<cmsghdr*>(control);
  *item = {.cmsg_len = CMSG_LEN(route.size()), .cmsg_level = IPPROTO_IPV6, .cmsg_type = IPV6_RTHDR};
  std::memcpy(CMSG_DATA(item), route.data(), route.size());
  set_option(fd, IPPROTO_IPV6, IPV6_2292PKTOPTIONS, control, CMSG_SPACE(route.size()));
  send_text_to(fd, ctx.token, v6("::1", ctx.decoy));
}
