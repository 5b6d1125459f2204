// SPDX-License-Identifier: Apache-2.0
// A raw socket of a process that was in the cgroup before the policy came: the socket belongs to the sandbox, and no
// hook of the cgroup sees what a raw socket sends.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

ATTACK(raw_socket_of_attached_cgroup_is_refused, {.victim = Victim::udp4,
                                                  .allow = "dangerously_allow_sockets: [raw]",
                                                  .at = "sendto",
                                                  .launch = Launch::attach_inside,
                                                  .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  ctx.join();
  send_text_to(fd, udp4_packet("127.0.0.1", ctx.port, ctx.token), v4("127.0.0.1", 0));
}
