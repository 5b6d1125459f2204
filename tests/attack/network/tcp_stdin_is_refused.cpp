// SPDX-License-Identifier: Apache-2.0
// A TCP connection as stdin: `sbpf run` itself must refuse to start unless the policy allows its peer.
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(tcp_stdin_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .launch = Launch::run_refused, .input = Stdin::tcp4}) {
  must(send(STDIN_FILENO, ctx.token.data(), ctx.token.size(), 0), "send");
}
