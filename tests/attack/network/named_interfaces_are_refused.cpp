// SPDX-License-Identifier: Apache-2.0
// An allowed address by an interface of the sandbox's choice is a host of another network: each way to name one.
#include <arpa/inet.h>
#include <linux/in6.h>
#include <net/if.h>

#include <algorithm>

#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

constexpr int kIpv6UnicastIf = 76, kSoBindToIfindex = 62;  // linux/in6.h, asm/socket.h

void send_by_option(const Context& ctx, int family, const char* to, int level, int option, int value) {
  const Fd fd = open_socket(family, SOCK_DGRAM);
  set_option(fd, level, option, value);
  send_text_to(fd, ctx.token, family == AF_INET ? v4(to, ctx.decoy) : v6(to, ctx.decoy));
}

template <typename T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string info4() {
  in_pktinfo info{};
  info.ipi_ifindex = other_interface();
  return bytes_of(info);
}

std::string info6() {
  in6_pktinfo info{};
  info.ipi6_ifindex = static_cast<unsigned>(other_interface());
  return bytes_of(info);
}

Address scoped(const char* address, std::uint16_t port) {
  Address to = v6(address, port);
  reinterpret_cast<sockaddr_in6*>(&to.storage)->sin6_scope_id = static_cast<std::uint32_t>(other_interface());
  return to;
}

constexpr const char* kNames = "which names a network interface";
constexpr const char* kLeaves = "by interface sbpfother";

// Packet info: by interfaces that are listed.
#define BY_OTHER(version)                                                                                            \
  {                                                                                                                  \
    .victim = Victim::other_wire, .allow = kToBeyond##version##ByOther, .deny = kToBeyond##version, .at = "sendmsg", \
    .root = true, .modules = "dummy", .told = kLeaves                                                                \
  }

// Options, whatever is listed: what the socket has sent already would go by it, too.
#define BY_OPTION(version)                                                                               \
  {                                                                                                      \
    .victim = Victim::other_wire, .deny = kToBeyond##version##ByOther, .at = "setsockopt", .root = true, \
    .modules = "dummy", .told = kNames                                                                   \
  }

}  // namespace

ATTACK(interface_by_unicast_if_is_refused, BY_OPTION(4)) {
  send_by_option(ctx, AF_INET, kBeyond4, IPPROTO_IP, IP_UNICAST_IF,
                 static_cast<int>(htonl(static_cast<std::uint32_t>(other_interface()))));
}

// The route to a loopback address is taken along, too: only lo has any.
ATTACK(loopback_by_packet_info_is_refused,
       {.victim = Victim::other_wire,
        .deny = "connect: [{address: 127.0.0.1, ports: [{decoy}]}]\n  interfaces: [sbpfother]",
        .at = "sendmsg",
        .root = true,
        .modules = "dummy",
        .told = "to an address of lo by interface sbpfother"}) {
  send_message(open_socket(AF_INET, SOCK_DGRAM), ctx.token, v4("127.0.0.1", ctx.decoy), IPPROTO_IP, IP_PKTINFO,
               info4());
}

ATTACK(interface_by_bindtodevice_is_refused, BY_OPTION(4)) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  set_option(fd, SOL_SOCKET, SO_BINDTODEVICE, kOtherInterface, sizeof("sbpfother"));
  connect_to(fd, v4(kBeyond4, ctx.decoy));
  send_text(fd, ctx.token);
}

ATTACK(interface_by_bindtoifindex_is_refused, BY_OPTION(4)) {
  send_by_option(ctx, AF_INET, kBeyond4, SOL_SOCKET, kSoBindToIfindex, other_interface());
}

ATTACK(interface_by_packet_info_is_refused, BY_OTHER(4)) {
  send_message(open_socket(AF_INET, SOCK_DGRAM), ctx.token, v4(kBeyond4, ctx.decoy), IPPROTO_IP, IP_PKTINFO, info4());
}

ATTACK(interface_by_ipv6_packet_info_is_refused, BY_OTHER(6)) {
  send_message(open_socket(AF_INET6, SOCK_DGRAM), ctx.token, v6(kBeyond6, ctx.decoy), IPPROTO_IPV6, IPV6_PKTINFO,
               info6());
}

ATTACK(interface_by_old_ipv6_packet_info_is_refused, BY_OTHER(6)) {
  send_message(open_socket(AF_INET6, SOCK_DGRAM), ctx.token, v6(kBeyond6, ctx.decoy), IPPROTO_IPV6, IPV6_2292PKTINFO,
               info6());
}

ATTACK(interface_by_kept_ipv6_packet_info_is_refused, BY_OPTION(6)) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  set_option(fd, IPPROTO_IPV6, IPV6_PKTINFO, info6().data(), info6().size());
  send_text_to(fd, ctx.token, v6(kBeyond6, ctx.decoy));
}

ATTACK(interface_by_ipv6_unicast_if_is_refused, BY_OPTION(6)) {
  send_by_option(ctx, AF_INET6, kBeyond6, IPPROTO_IPV6, kIpv6UnicastIf,
                 static_cast<int>(htonl(static_cast<std::uint32_t>(other_interface()))));
}

// By an option of IPv4, on a socket of IPv6.
ATTACK(interface_by_unicast_if_on_udp6_is_refused, BY_OPTION(4)) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  set_option(fd, IPPROTO_IP, IP_UNICAST_IF, static_cast<int>(htonl(static_cast<std::uint32_t>(other_interface()))));
  send_text_to(fd, ctx.token, v6(("::ffff:" + std::string(kBeyond4)).c_str(), ctx.decoy));
}

ATTACK(interface_by_multicast_if_is_refused,
       {.victim = Victim::other_wire,
        .deny = "connect: [{address: 239.255.83.66, ports: [{decoy}], protocol: udp}]\n  interfaces: [sbpfother]",
        .at = "setsockopt",
        .root = true,
        .modules = "dummy"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  ip_mreqn by{};
  by.imr_ifindex = other_interface();
  set_option(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
  send_text_to(fd, ctx.token, v4(kMulticast, ctx.decoy));
}

ATTACK(interface_by_ipv6_multicast_if_is_refused,
       {.victim = Victim::other_wire,
        .deny = "connect: [{address: \"ff15::5342\", ports: [{decoy}], protocol: udp}]\n  interfaces: [sbpfother]",
        .at = "setsockopt",
        .root = true,
        .modules = "dummy"}) {
  send_by_option(ctx, AF_INET6, kMulticast6, IPPROTO_IPV6, IPV6_MULTICAST_IF, other_interface());
}

ATTACK(interface_by_scope_of_sendto_is_refused, {.victim = Victim::other_wire,
                                                 .allow = kToLinkLocal6ByOther,
                                                 .deny = kToLinkLocal6,
                                                 .at = "sendto",
                                                 .root = true,
                                                 .modules = "dummy"}) {
  send_text_to(open_socket(AF_INET6, SOCK_DGRAM), ctx.token, scoped(kLinkLocal6, ctx.decoy));
}

ATTACK(interface_by_scope_of_connect_is_refused, {.victim = Victim::other_wire,
                                                  .allow = kToLinkLocal6ByOther,
                                                  .deny = kToLinkLocal6,
                                                  .at = "connect",
                                                  .root = true,
                                                  .modules = "dummy"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  connect_to(fd, scoped(kLinkLocal6, ctx.decoy));
  send_text(fd, ctx.token);
}

// What the socket is bound to stays with it.
ATTACK(
    interface_by_scope_of_bind_is_refused,
    {.victim = Victim::other_wire,
     .allow =
         "connect: [{address: \"fe80::83\", ports: [{decoy}], protocol: udp}]\n  bind: [{address: \"fe80::1\", ports: [0], protocol: "
         "udp}]\n  interfaces: [sbpfother]",
     .deny =
         "connect: [{address: \"fe80::83\", ports: [{decoy}], protocol: udp}]\n  bind: [{address: \"fe80::1\", ports: [0], protocol: udp}]",
     .at = "bind",
     .root = true,
     .modules = "dummy"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  bind_to(fd, scoped("fe80::1", 0));
  send_text_to(fd, ctx.token, v6(kLinkLocal6, ctx.decoy));
}

// One that is not listed, beside one that is.
ATTACK(
    interface_that_is_not_listed_is_refused,
    {.victim = Victim::other_wire,
     .allow = "connect: [{address: 198.51.100.83, ports: [{decoy}], protocol: udp}]\n  interfaces: [lo, sbpfother]",
     .deny =
         "connect: [{address: 198.51.100.83, ports: [{decoy}], protocol: udp}]\n  interfaces: [lo, sbpfothe, sbpfother0]",
     .at = "sendmsg",
     .root = true,
     .modules = "dummy"}) {
  send_message(open_socket(AF_INET, SOCK_DGRAM), ctx.token, v4(kBeyond4, ctx.decoy), IPPROTO_IP, IP_PKTINFO, info4());
}

// Named when the address was judged already, by a connect that the host's routes led the same way.
ATTACK(interface_named_after_connect_is_refused, BY_OPTION(6)) {
  const Fd fd = open_socket(AF_INET6, SOCK_DGRAM);
  connect_to(fd, v6(kBeyond6, ctx.decoy));
  set_option(fd, SOL_SOCKET, SO_BINDTODEVICE, kOtherInterface, sizeof("sbpfother"));
  send_text(fd, ctx.token);
}

// For a group, the source chooses the interface that has it.
ATTACK(
    interface_by_source_of_packet_info_is_refused,
    {.victim = Victim::other_wire,
     .allow =
         "connect: [{address: 239.255.83.66, ports: [{decoy}], protocol: udp}]\n  bind: [{address: 192.0.2.83, ports: [0], protocol: udp}]",
     .deny =
         "connect: [{address: 239.255.83.66, ports: [{decoy}], protocol: udp}]\n  bind: [{address: 127.0.0.1, ports: [0], protocol: udp}]",
     .at = "sendmsg",
     .root = true,
     .modules = "dummy",
     .told = "bind udp 192.0.2.83:0"}) {
  in_pktinfo info{};
  inet_pton(AF_INET, "192.0.2.83", &info.ipi_spec_dst);
  send_message(open_socket(AF_INET, SOCK_DGRAM), ctx.token, v4(kMulticast, ctx.decoy), IPPROTO_IP, IP_PKTINFO,
               bytes_of(info));
}

// Of two messages to one address the kernel shows the first alone; the second has packet info of its own.
ATTACK(interface_by_second_message_of_sendmmsg_is_refused, {.victim = Victim::other_wire,
                                                            .expected = ENOSYS,
                                                            .at = "sendmmsg",
                                                            .root = true,
                                                            .modules = "dummy",
                                                            .told = "sendmmsg of several messages"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  Address to = v4("127.0.0.1", ctx.decoy);
  std::string text = ctx.token;
  iovec part = {text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(in_pktinfo))] = {};
  mmsghdr messages[2] = {};
  for (mmsghdr& message : messages) {
    message.msg_hdr.msg_name = to.raw();
    message.msg_hdr.msg_namelen = to.length;
    message.msg_hdr.msg_iov = &part;
    message.msg_hdr.msg_iovlen = 1;
  }
  msghdr& second = messages[1].msg_hdr;
  second.msg_control = control;
  second.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&second);
  header->cmsg_level = IPPROTO_IP;
  header->cmsg_type = IP_PKTINFO;
  header->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
  const std::string info = info4();
  std::copy(info.begin(), info.end(), CMSG_DATA(header));
  must(sendmmsg(fd.get(), messages, 2, 0), "sendmmsg");
}
