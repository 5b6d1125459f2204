// SPDX-License-Identifier: Apache-2.0
// The table of socket classes of bpf/decide_socket.h. Numbers come from the system's headers here, so that a wrong one
// there is seen.
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "policy/image.h"
#include "tests/unit/decide_image.h"

namespace sbpf::policy {
namespace {

struct SocketRow {
  const char* name;
  int family, type, protocol;
  sbpf_socket_class expected;
};

constexpr int kUdpLite = 136, kMptcp = 262, kSmc = 256, kDccp = 33;

const SocketRow kSockets[] = {
    {"tcp4", AF_INET, SOCK_STREAM, 0, SBPF_SOCKET_NORMAL},
    {"tcp4_named", AF_INET, SOCK_STREAM, IPPROTO_TCP, SBPF_SOCKET_NORMAL},
    {"tcp6", AF_INET6, SOCK_STREAM, 0, SBPF_SOCKET_NORMAL},
    {"tcp6_flags", AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP, SBPF_SOCKET_NORMAL},
    {"udp4", AF_INET, SOCK_DGRAM, 0, SBPF_SOCKET_NORMAL},
    {"udp6_named", AF_INET6, SOCK_DGRAM, IPPROTO_UDP, SBPF_SOCKET_NORMAL},
    {"unix_stream", AF_UNIX, SOCK_STREAM, 0, SBPF_SOCKET_NORMAL},
    {"unix_dgram", AF_UNIX, SOCK_DGRAM, 0, SBPF_SOCKET_NORMAL},
    {"unix_seqpacket", AF_UNIX, SOCK_SEQPACKET, 0, SBPF_SOCKET_NORMAL},
    {"netlink_route", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, SBPF_SOCKET_NORMAL},
    {"netlink_audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT, SBPF_SOCKET_NETLINK},
    {"netlink_netfilter", AF_NETLINK, SOCK_DGRAM, NETLINK_NETFILTER, SBPF_SOCKET_NETLINK},
    {"netlink_sock_diag", AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG, SBPF_SOCKET_NETLINK},
    {"mptcp4", AF_INET, SOCK_STREAM, kMptcp, SBPF_SOCKET_MPTCP},
    {"mptcp6", AF_INET6, SOCK_STREAM, kMptcp, SBPF_SOCKET_MPTCP},
    {"udplite", AF_INET, SOCK_DGRAM, kUdpLite, SBPF_SOCKET_UDPLITE},
    {"sctp_stream", AF_INET, SOCK_STREAM, IPPROTO_SCTP, SBPF_SOCKET_SCTP},
    {"sctp_seqpacket", AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP, SBPF_SOCKET_SCTP},
    {"ping4", AF_INET, SOCK_DGRAM, IPPROTO_ICMP, SBPF_SOCKET_PING},
    {"ping6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, SBPF_SOCKET_PING},
    {"raw4", AF_INET, SOCK_RAW, IPPROTO_RAW, SBPF_SOCKET_RAW},
    {"raw_icmp", AF_INET, SOCK_RAW, IPPROTO_ICMP, SBPF_SOCKET_RAW},
    {"raw_as_tcp", AF_INET, SOCK_RAW, IPPROTO_TCP, SBPF_SOCKET_RAW},
    {"raw6", AF_INET6, SOCK_RAW, IPPROTO_UDP, SBPF_SOCKET_RAW},
    {"packet_raw", AF_PACKET, SOCK_RAW, 0x300, SBPF_SOCKET_PACKET},
    {"packet_dgram", AF_PACKET, SOCK_DGRAM, 0, SBPF_SOCKET_PACKET},
    {"vsock", AF_VSOCK, SOCK_STREAM, 0, SBPF_SOCKET_VSOCK},
    {"alg", AF_ALG, SOCK_SEQPACKET, 0, SBPF_SOCKET_ALG},
    {"smc_family", AF_SMC, SOCK_STREAM, 0, SBPF_SOCKET_SMC},
    {"smc_protocol", AF_INET, SOCK_STREAM, kSmc, SBPF_SOCKET_SMC},
    {"stream_with_udp", AF_INET, SOCK_STREAM, IPPROTO_UDP, SBPF_SOCKET_OTHER},
    {"dgram_with_tcp", AF_INET, SOCK_DGRAM, IPPROTO_TCP, SBPF_SOCKET_OTHER},
    {"dccp", AF_INET, SOCK_DCCP, kDccp, SBPF_SOCKET_OTHER},
    {"old_packet", AF_INET, SOCK_PACKET, 0x300, SBPF_SOCKET_OTHER},
    {"unspec", AF_UNSPEC, SOCK_STREAM, 0, SBPF_SOCKET_OTHER},
    {"key", AF_KEY, SOCK_RAW, 2, SBPF_SOCKET_OTHER},
    {"xdp", AF_XDP, SOCK_RAW, 0, SBPF_SOCKET_OTHER},
    {"bluetooth", AF_BLUETOOTH, SOCK_RAW, 1, SBPF_SOCKET_OTHER},
    {"tipc", AF_TIPC, SOCK_RDM, 0, SBPF_SOCKET_OTHER},
    {"can", AF_CAN, SOCK_RAW, 1, SBPF_SOCKET_OTHER},
    {"negative_family", -1, SOCK_STREAM, 0, SBPF_SOCKET_OTHER},
    {"negative_protocol", AF_INET, SOCK_STREAM, -6, SBPF_SOCKET_OTHER},
    {"type_zero", AF_INET, 0, 0, SBPF_SOCKET_OTHER},
};

TEST(DecideSocket, classes) {
  for (const SocketRow& row : kSockets)
    EXPECT_EQ(classify_socket(row.family, row.type, row.protocol), row.expected) << row.name;
}

TEST(DecideSocket, only_normal_ones_are_allowed_by_default) {
  Image image = image_of("network: none");
  EXPECT_EQ(sbpf_decide_socket(&image, SBPF_SOCKET_NORMAL), SBPF_ALLOW);
  for (int c = SBPF_SOCKET_NORMAL + 1; c < SBPF_SOCKET_CLASS_MAX; ++c)
    EXPECT_EQ(sbpf_decide_socket(&image, c), SBPF_DENY) << c;
}

TEST(DecideSocket, a_named_class_is_allowed_and_no_other) {
  for (int named = SBPF_SOCKET_NORMAL + 1; named < SBPF_SOCKET_OTHER; ++named) {
    const std::string word(to_string(static_cast<sbpf_socket_class>(named)));
    Image image = image_of("network: {dangerously_allow_sockets: [" + word + "]}");
    for (int c = SBPF_SOCKET_NORMAL + 1; c < SBPF_SOCKET_CLASS_MAX; ++c)
      EXPECT_EQ(sbpf_decide_socket(&image, c), c == named ? SBPF_ALLOW : SBPF_DENY) << word << " " << c;
  }
}

TEST(DecideSocket, other_needs_allow_all_and_impossible_classes_are_denied) {
  Image all = image_of("network: {dangerously_allow_all: true}");
  EXPECT_EQ(sbpf_decide_socket(&all, SBPF_SOCKET_OTHER), SBPF_ALLOW);
  Image some = image_of("network: {dangerously_allow_sockets: [raw, packet]}");
  for (const int c : {static_cast<int>(SBPF_SOCKET_OTHER), static_cast<int>(SBPF_SOCKET_CLASS_MAX), 33, -1})
    EXPECT_EQ(sbpf_decide_socket(&some, c), SBPF_DENY) << c;
  // Whatever bits there are: no name stands for them.
  for (auto& [key, value] : some.entries) {
    if (key.kind != SBPF_RULE_HEADER || key.port != SBPF_SLOT_HEADER) continue;
    sbpf_policy_header header;
    std::memcpy(&header, &value, sizeof header);
    header.sockets = ~0u;
    std::memcpy(&value, &header, sizeof header);
  }
  EXPECT_EQ(sbpf_decide_socket(&some, SBPF_SOCKET_VSOCK), SBPF_ALLOW);
  EXPECT_EQ(sbpf_decide_socket(&some, SBPF_SOCKET_OTHER), SBPF_DENY);
  Image missing;
  EXPECT_EQ(sbpf_decide_socket(&missing, SBPF_SOCKET_RAW), SBPF_DENY);
}

// The names of hosts may open what is denied so far, but not what is denied whatever the policy says.
TEST(DecideBarred, no_name_of_a_host_opens_it) {
  Image image = image_of("network: {connect: [{host: example.com, ports: [443]}, {cidr: 169.0.0.0/8, ports: [443]}]}");
  const auto asked = [&image](std::uint32_t v4, std::uint16_t port) {
    sbpf_net_query query{};
    query.kind = SBPF_RULE_CONNECT;
    query.proto = SBPF_PROTO_TCP;
    query.port = port;
    sbpf_map_v4(query.addr_be, __builtin_bswap32(v4));
    EXPECT_EQ(sbpf_decide_net(&image, &query), SBPF_DENY) << std::hex << v4;
    EXPECT_EQ(query.rule, SBPF_NO_RULE) << std::hex << v4;
    return query.host_names_id;
  };
  EXPECT_NE(asked(0x5db8d822, 443), 0u) << "an address that the resolver may enter";
  EXPECT_EQ(asked(SBPF_CANARY_V4, SBPF_CANARY_PORT), 0u);
  EXPECT_EQ(asked(0xa9fea9fe, 443), 0u) << "listed, and yet denied";
  EXPECT_EQ(asked(0xa9fea9fe, 80), 0u);
}

}  // namespace
}  // namespace sbpf::policy
