// SPDX-License-Identifier: Apache-2.0
// Destination options, among them the home address of mobile IPv6.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ipv6_destination_options_are_refused,
       {.at = "setsockopt", .root = true, .claims = "the option changes what is sent, and nothing is"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  set_option(fd, IPPROTO_IPV6, IPV6_DSTOPTS, "\0\0\1\4\0\0\0\0", 8);
}
