// SPDX-License-Identifier: Apache-2.0
// Whatever the caller of `sbpf run` left open above stdio is closed before the program starts.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(inherited_descriptor_is_refused,
       {.victim = Victim::bystander_socket, .allow = kNever, .expected = EBADF, .at = "send"}) {
  must(send(static_cast<int>(ctx.number("inherited_fd")), ctx.token.data(), ctx.token.size(), 0), "send");
}
