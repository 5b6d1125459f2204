// SPDX-License-Identifier: Apache-2.0
// In a user namespace of its own anyone may open raw sockets: the class is denied there too. The socket is the proof.
#include <sched.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(raw_socket_in_user_namespace_is_refused, {.victim = Victim::attacker_socket,
                                                 .allow = "dangerously_allow_sockets: [raw]",
                                                 .at = "socket",
                                                 .shows = "2 3 17"}) {
  must(unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
  ctx.keep(open_socket(AF_INET, SOCK_RAW, IPPROTO_UDP));
}
