// SPDX-License-Identifier: Apache-2.0
// An interface that a socket was told before it came under the policy.
#include <net/if.h>

#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

Fd socket_by_other() {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, IPPROTO_IP, IP_UNICAST_IF, static_cast<int>(htonl(static_cast<std::uint32_t>(other_interface()))));
  return fd;
}

}  // namespace

ATTACK(premade_interface_sendto_is_refused, {.victim = Victim::other_wire,
                                             .allow = kToBeyond4ByOther,
                                             .deny = kToBeyond4,
                                             .at = "sendto",
                                             .launch = Launch::attach,
                                             .root = true,
                                             .modules = "dummy"}) {
  const Fd fd = socket_by_other();
  ctx.join();
  send_text_to(fd, ctx.token, v4(kBeyond4, ctx.decoy));
}

ATTACK(premade_interface_connect_is_refused, {.victim = Victim::other_wire,
                                              .allow = kToBeyond4ByOther,
                                              .deny = kToBeyond4,
                                              .at = "connect",
                                              .launch = Launch::attach,
                                              .root = true,
                                              .modules = "dummy"}) {
  const Fd fd = socket_by_other();
  ctx.join();
  connect_to(fd, v4(kBeyond4, ctx.decoy));
  send_text(fd, ctx.token);
}

// A program that was in the cgroup all along: its sockets are the sandbox's own.
ATTACK(premade_own_interface_sendto_is_refused, {.victim = Victim::other_wire,
                                                 .allow = kToBeyond4ByOther,
                                                 .deny = kToBeyond4,
                                                 .at = "sendto",
                                                 .launch = Launch::attach_inside,
                                                 .root = true,
                                                 .modules = "dummy"}) {
  const Fd fd = socket_by_other();
  ctx.join();
  send_text_to(fd, ctx.token, v4(kBeyond4, ctx.decoy));
}

// Two that differ are told by none.
ATTACK(premade_interfaces_that_differ_are_refused,
       {.victim = Victim::other_wire,
        .deny = "connect: [{address: 198.51.100.83, ports: [{decoy}], protocol: udp}]\n  interfaces: [lo, sbpfother]",
        .at = "sendto",
        .launch = Launch::attach,
        .root = true,
        .modules = "dummy"}) {
  const Fd fd = socket_by_other();
  ip_mreqn lo{};
  lo.imr_ifindex = static_cast<int>(if_nametoindex("lo"));
  set_option(fd, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof lo);
  ctx.join();
  send_text_to(fd, ctx.token, v4(kBeyond4, ctx.decoy));
}

ATTACK(premade_ipv6_packet_info_sendto_is_refused, {.victim = Victim::other_wire,
                                                    .allow = kToBeyond6ByOther,
                                                    .deny = kToBeyond6,
                                                    .at = "sendto",
                                                    .launch = Launch::attach,
                                                    .root = true,
                                                    .modules = "dummy"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  in6_pktinfo by{};
  by.ipi6_ifindex = static_cast<unsigned>(other_interface());
  set_option(fd, IPPROTO_IPV6, IPV6_PKTINFO, &by, sizeof by);
  ctx.join();
  send_text_to(fd, ctx.token, v6(kBeyond6, ctx.decoy));
}

ATTACK(premade_ipv6_multicast_if_sendto_is_refused,
       {.victim = Victim::other_wire,
        .allow = "connect: [{address: \"ff15::5342\", ports: [{decoy}], protocol: udp}]\n  interfaces: [sbpfother]",
        .deny = "connect: [{address: \"ff15::5342\", ports: [{decoy}], protocol: udp}]",
        .at = "sendto",
        .launch = Launch::attach,
        .root = true,
        .modules = "dummy"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, other_interface());
  ctx.join();
  send_text_to(fd, ctx.token, v6(kMulticast6, ctx.decoy));
}
