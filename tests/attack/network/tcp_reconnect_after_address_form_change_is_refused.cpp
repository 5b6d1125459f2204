// SPDX-License-Identifier: Apache-2.0
// IPV6_ADDRFORM turns an IPv6 socket with an allowed mapped peer into an IPv4 one; then it
// is dissolved and connected anew.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_reconnect_after_address_form_change_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "reconnect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  connect_to(fd, v6("::ffff:127.0.0.1", ctx.decoy), "connect decoy");
  set_option(fd, IPPROTO_IPV6, IPV6_ADDRFORM, AF_INET);
  connect_to(fd, unspec(), "disconnect");
  connect_to(fd, v4("127.0.0.1", ctx.port), "reconnect");
  send_text(fd, ctx.token);
}
