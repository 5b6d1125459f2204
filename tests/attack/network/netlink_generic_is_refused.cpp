// SPDX-License-Identifier: Apache-2.0
// NETLINK_GENERIC leads to dozens of kernel subsystems.
// Its use is seen by nobody else: the kernel's answer is the proof.
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(netlink_generic_is_refused, {.victim = Victim::attacker_socket,
                                    .allow = "dangerously_allow_sockets: [netlink]",
                                    .at = "socket",
                                    .shows = "16 3 16"}) {
  Fd fd = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
  struct {
    nlmsghdr header;
    genlmsghdr generic;
  } request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = GENL_ID_CTRL;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.generic.cmd = CTRL_CMD_GETFAMILY;
  must(send(fd.get(), &request, sizeof(request), 0), "send");
  char answer[8192];
  if (must(recv(fd.get(), answer, sizeof(answer), 0), "recv") < NLMSG_HDRLEN) throw Failure{EPROTO, "answer"};
  ctx.keep(std::move(fd));
}
