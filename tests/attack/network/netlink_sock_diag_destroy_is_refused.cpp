// SPDX-License-Identifier: Apache-2.0
// NETLINK_SOCK_DIAG lists every connection of the machine, and root may cut them.
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(netlink_sock_diag_destroy_is_refused, {.victim = Victim::diag_connection,
                                              .at = "socket",
                                              .root = true,
                                              .modules = "inet_diag tcp_diag",
                                              .lacking = {{EOPNOTSUPP, ENOENT}}}) {
  const Fd fd = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } message{};
  message.header.nlmsg_len = sizeof(message);
  message.header.nlmsg_type = SOCK_DESTROY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  message.request.sdiag_family = AF_INET;
  message.request.sdiag_protocol = IPPROTO_TCP;
  message.request.idiag_states = ~0u;
  message.request.id.idiag_sport = htons(static_cast<std::uint16_t>(ctx.number("bystander_port")));
  message.request.id.idiag_dport = htons(ctx.port);
  message.request.id.idiag_src[0] = htonl(INADDR_LOOPBACK);
  message.request.id.idiag_dst[0] = htonl(INADDR_LOOPBACK);
  message.request.id.idiag_cookie[0] = message.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  must(send(fd.get(), &message, sizeof(message), 0), "send");
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char rest[256];
  } answer{};
  must(recv(fd.get(), &answer, sizeof(answer), 0), "recv");
  if (answer.error.error != 0) throw Failure{-answer.error.error, "sock_destroy"};
}
