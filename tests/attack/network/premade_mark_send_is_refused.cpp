// SPDX-License-Identifier: Apache-2.0
// A mark, or a policy of IPsec, that a socket had before it came under the policy: by either, what it sends to an
// allowed address goes another way. Neither can be set inside.
#include <linux/xfrm.h>

#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

Fd marked_socket(int family = AF_INET) {
  Fd fd = open_socket(family, SOCK_DGRAM);
  set_option(fd, SOL_SOCKET, SO_MARK, 83);
  return fd;
}

// One that leaves packets as they are.
Fd socket_with_ipsec() {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  xfrm_userpolicy_info policy{};
  policy.sel.family = AF_INET;
  policy.lft.soft_byte_limit = policy.lft.hard_byte_limit = XFRM_INF;
  policy.lft.soft_packet_limit = policy.lft.hard_packet_limit = XFRM_INF;
  policy.dir = XFRM_POLICY_OUT;
  policy.action = XFRM_POLICY_ALLOW;
  set_option(fd, IPPROTO_IP, IP_XFRM_POLICY, &policy, sizeof policy);
  return fd;
}

// The address is allowed.
constexpr Spec marked_at(const char* step, Launch launch = Launch::attach) {
  return {.victim = Victim::udp4, .deny = kAllowUdp4, .at = step, .launch = launch, .root = true};
}

}  // namespace

ATTACK(premade_mark_send_is_refused, {marked_at("sendto")}) {
  const Fd fd = marked_socket();
  ctx.join();
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}

ATTACK(premade_mark_mapped_send_is_refused, {marked_at("sendto")}) {
  const Fd fd = marked_socket(AF_INET6);
  ctx.join();
  send_text_to(fd, ctx.token, v6("::ffff:127.0.0.1", ctx.port));
}

ATTACK(premade_mark_connect_is_refused, {marked_at("connect")}) {
  const Fd fd = marked_socket();
  ctx.join();
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}

// A program that was in the cgroup all along: its sockets are the sandbox's own.
ATTACK(premade_own_mark_send_is_refused, {marked_at("sendto", Launch::attach_inside)}) {
  const Fd fd = marked_socket();
  ctx.join();
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}

ATTACK(premade_ipsec_policy_send_is_refused, {.victim = Victim::udp4,
                                              .deny = kAllowUdp4,
                                              .at = "sendto",
                                              .launch = Launch::attach,
                                              .root = true,
                                              .modules = "xfrm_user"}) {
  const Fd fd = socket_with_ipsec();
  ctx.join();
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port));
}
