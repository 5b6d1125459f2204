// SPDX-License-Identifier: Apache-2.0
// An allowed address behind a gateway, past the gateway: on a link that has a wider route, another host answers to it.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(so_dontroute_is_refused, {.victim = Victim::attacker_option, .at = "setsockopt", .shows = "1 5 1"}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, SOL_SOCKET, SO_DONTROUTE, 1);
  ctx.keep(std::move(fd));
}

ATTACK(so_dontroute_on_tcp6_is_refused, {.victim = Victim::attacker_option, .at = "setsockopt", .shows = "1 5 1"}) {
  Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  set_option(fd, SOL_SOCKET, SO_DONTROUTE, 1);
  ctx.keep(std::move(fd));
}

// The address is allowed.
ATTACK(msg_dontroute_is_refused, {.victim = Victim::udp4, .deny = kAllowUdp4, .at = "sendto"}) {
  send_text_to(open_socket(AF_INET, SOCK_DGRAM), ctx.token, v4("127.0.0.1", ctx.port), MSG_DONTROUTE);
}

ATTACK(premade_so_dontroute_send_is_refused,
       {.victim = Victim::udp4, .deny = kAllowUdp4, .at = "sendto", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, SOL_SOCKET, SO_DONTROUTE, 1);
  ctx.join();
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
