// SPDX-License-Identifier: Apache-2.0
// Kernels with UDP-Lite take its level for UDP's own, on any UDP socket. The option is the proof.
#include <netinet/udp.h>

#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

void set_by_udplite(Context& ctx, int family) {
  Fd fd = open_socket(family, SOCK_DGRAM);
  set_option(fd, IPPROTO_UDPLITE, UDP_ENCAP, UDP_ENCAP_ESPINUDP);
  ctx.keep(std::move(fd));
}

constexpr Spec kByUdplite = {
    .victim = Victim::attacker_option, .at = "setsockopt", .lacking = {{ENOPROTOOPT}}, .shows = "17 100 2"};

}  // namespace

ATTACK(udp_encapsulation_by_udplite_level_is_refused, {kByUdplite}) { set_by_udplite(ctx, AF_INET); }

ATTACK(udp6_encapsulation_by_udplite_level_is_refused, {kByUdplite}) { set_by_udplite(ctx, AF_INET6); }
