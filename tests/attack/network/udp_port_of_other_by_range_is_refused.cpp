// SPDX-License-Identifier: Apache-2.0
// A range of one port has the kernel pick that port, which only a rule of `bind` could allow: of a server outside that
// lets its port be shared, and whose datagrams the newest socket gets.
#include "tests/attack/lib/net.h"

using namespace attack;

// By the first datagram, to an address that is allowed, as the client's is.
ATTACK(udp_port_of_other_by_range_is_refused,
       {.victim = Victim::client_udp4_shared,
        .deny = "connect: [{address: 127.0.0.1, ports: [1-65535], protocol: udp}]",
        .at = "setsockopt",
        .lacking = {{ENOPROTOOPT}}}) {
  constexpr int kIpLocalPortRange = 51;  // linux/in.h
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(fd, IPPROTO_IP, kIpLocalPortRange, ctx.port << 16 | ctx.port);
  send_text_to(fd, "?", v4("127.0.0.1", ctx.decoy));
  ctx.serve(std::move(fd));
}
