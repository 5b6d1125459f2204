// SPDX-License-Identifier: Apache-2.0
// An AF_SMC socket hands options to the TCP socket inside it: here one that sends its packets over another interface.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(option_of_smc_socket_is_refused, {.victim = Victim::attacker_option,
                                         .deny = "dangerously_allow_sockets: [smc]",
                                         .at = "setsockopt",
                                         .modules = "smc",
                                         .lacking = {{EAFNOSUPPORT}},
                                         .shows = "0 50 16777216"}) {
  Fd fd = open_socket(AF_SMC, SOCK_STREAM);
  set_option(fd, IPPROTO_IP, IP_UNICAST_IF, static_cast<int>(htonl(1)));
  ctx.keep(std::move(fd));
}
