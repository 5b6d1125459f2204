// SPDX-License-Identifier: Apache-2.0
// Who joins a multicast group has the kernel tell the network of it, by IGMP or MLD: groups and sources are bytes of
// his choice.
#include <arpa/inet.h>
#include <linux/in6.h>
#include <net/if.h>

#include <cstring>

#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

std::string secret_of(const Context& ctx) { return ctx.token.substr(kTokenInGroup, kTokenInGroupSize); }

in_addr group4(const Context& ctx) {
  in_addr group{htonl(0xef000000u)};
  std::memcpy(reinterpret_cast<char*>(&group) + 1, secret_of(ctx).data(), kTokenInGroupSize);
  return group;
}

in_addr source4(const Context& ctx) {
  in_addr source{htonl(0x0a000000u)};
  std::memcpy(reinterpret_cast<char*>(&source) + 1, secret_of(ctx).data(), kTokenInGroupSize);
  return source;
}

in6_addr v6_address(const char* text) {
  in6_addr address{};
  inet_pton(AF_INET6, text, &address);
  return address;
}

in6_addr group6(const Context& ctx) {
  in6_addr group = v6_address(kMulticast6);
  std::memcpy(group.s6_addr + 4, secret_of(ctx).data(), kTokenInGroupSize);
  return group;
}

sockaddr_storage in_storage(const in_addr& address) {
  sockaddr_storage storage{};
  auto* in = reinterpret_cast<sockaddr_in*>(&storage);
  in->sin_family = AF_INET;
  in->sin_addr = address;
  return storage;
}

sockaddr_storage in_storage(const in6_addr& address) {
  sockaddr_storage storage{};
  auto* in = reinterpret_cast<sockaddr_in6*>(&storage);
  in->sin6_family = AF_INET6;
  in->sin6_addr = address;
  return storage;
}

group_req request_of(const sockaddr_storage& group) {
  group_req request{};
  request.gr_interface = static_cast<std::uint32_t>(other_interface());
  request.gr_group = group;
  return request;
}

group_source_req request_of(const sockaddr_storage& group, const sockaddr_storage& source) {
  group_source_req request{};
  request.gsr_interface = static_cast<std::uint32_t>(other_interface());
  request.gsr_group = group;
  request.gsr_source = source;
  return request;
}

// Its socket is kept, as the kernel leaves a group with it.
template <typename T>
void join(Context& ctx, int family, int level, int option, const T& request) {
  Fd fd = open_socket(family, SOCK_DGRAM);
  set_option(fd, level, option, &request, sizeof request);
  ctx.keep(std::move(fd));
}

#define JOINS \
  { .victim = Victim::other_wire, .at = "setsockopt", .root = true, .modules = "dummy" }

}  // namespace

ATTACK(multicast_add_membership_is_refused, JOINS) {
  join(ctx, AF_INET, IPPROTO_IP, IP_ADD_MEMBERSHIP, ip_mreqn{group4(ctx), {}, other_interface()});
}

ATTACK(multicast_add_membership_on_udp6_is_refused, JOINS) {
  join(ctx, AF_INET6, IPPROTO_IP, IP_ADD_MEMBERSHIP, ip_mreqn{group4(ctx), {}, other_interface()});
}

ATTACK(multicast_add_source_membership_is_refused, JOINS) {
  ip_mreq_source request{};
  inet_pton(AF_INET, kMulticast, &request.imr_multiaddr);
  inet_pton(AF_INET, "192.0.2.83", &request.imr_interface);
  request.imr_sourceaddr = source4(ctx);
  join(ctx, AF_INET, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, request);
}

ATTACK(multicast_join_group_is_refused, JOINS) {
  join(ctx, AF_INET, IPPROTO_IP, MCAST_JOIN_GROUP, request_of(in_storage(group4(ctx))));
}

ATTACK(multicast_join_source_group_is_refused, JOINS) {
  join(ctx, AF_INET, IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP,
       request_of(in_storage(group4(ctx)), in_storage(source4(ctx))));
}

ATTACK(multicast_ipv6_join_is_refused, JOINS) {
  join(ctx, AF_INET6, IPPROTO_IPV6, IPV6_JOIN_GROUP, ipv6_mreq{group6(ctx), static_cast<unsigned>(other_interface())});
}

ATTACK(multicast_ipv6_join_group_is_refused, JOINS) {
  join(ctx, AF_INET6, IPPROTO_IPV6, MCAST_JOIN_GROUP, request_of(in_storage(group6(ctx))));
}

ATTACK(multicast_ipv6_join_source_group_is_refused, JOINS) {
  join(ctx, AF_INET6, IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP,
       request_of(in_storage(group6(ctx)), in_storage(v6_address("2001:db8::83"))));
}

// A group that one is in already, before the policy: another filter of its sources is told, too.
ATTACK(multicast_filter_of_premade_membership_is_refused,
       {.victim = Victim::other_wire, .at = "setsockopt", .launch = Launch::attach, .root = true, .modules = "dummy"}) {
  Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  ip_mreqn membership{};
  inet_pton(AF_INET, kMulticast, &membership.imr_multiaddr);
  membership.imr_ifindex = other_interface();
  set_option(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership);
  ctx.join();
  ip_mreq_source request{};
  request.imr_multiaddr = membership.imr_multiaddr;
  inet_pton(AF_INET, "192.0.2.83", &request.imr_interface);
  request.imr_sourceaddr = source4(ctx);
  set_option(fd, IPPROTO_IP, IP_BLOCK_SOURCE, &request, sizeof request);
  ctx.keep(std::move(fd));
}
