// SPDX-License-Identifier: Apache-2.0
// An upper protocol makes a TCP socket another kind ("smc", whose options nobody judged)..
#include <netinet/tcp.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_ulp_is_refused,
       {.at = "setsockopt", .modules = "tls", .claims = "no key is set, so nothing is sent in another way"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.decoy));
  set_option(fd, IPPROTO_TCP, TCP_ULP, "tls", 4);
}
