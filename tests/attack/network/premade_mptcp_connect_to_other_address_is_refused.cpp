// SPDX-License-Identifier: Apache-2.0
// A policy that allows the MPTCP class, and a socket of it made before the process joined: connect4 does not run, not
// even for its subflow.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_mptcp_connect_to_other_address_is_refused,
       {.victim = Victim::mptcp4,
        .allow = kAllowMptcp4,
        .deny = "dangerously_allow_sockets: [mptcp]\n  connect: [{address: 127.0.0.1, ports: [{decoy}]}]",
        .at = "connect",
        .launch = Launch::attach,
        .lacking = {{EPROTONOSUPPORT, ENOPROTOOPT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
  ctx.join();
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}
