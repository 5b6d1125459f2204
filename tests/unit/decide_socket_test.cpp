// SPDX-License-Identifier: Apache-2.0
// The socket, option and ancillary data tables of bpf/decide.h. Numbers come from the system's headers here, so that a
// wrong one there is seen.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/in6.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <linux/netlink.h>
#include <linux/sctp.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "policy/filesystem.h"
#include "policy/image.h"
#include "policy/values.h"

namespace {
const void* sbpf_policy_lookup(void* policy, const sbpf_rule_key* key) {
  const auto& entries = static_cast<sbpf::policy::Image*>(policy)->entries;
  const auto found = entries.find(*key);
  return found == entries.end() ? nullptr : &found->second;
}
}  // namespace

#include "bpf/decide.h"

namespace sbpf::policy {
namespace {

// Nothing here has files to look up.
Result<Image> compile(const Policy& policy, std::uint32_t generation) {
  return compile(policy, generation, empty_view(policy));
}

Image image_of(const std::string& network) {
  const auto policy = parse("version: 1\nname: t\nnetwork: " + network + "\n", "t", nullptr);
  EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
  auto image = compile(policy.value(), 1);
  EXPECT_TRUE(image);
  return std::move(*image);
}

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
  Image image = image_of("none");
  EXPECT_EQ(sbpf_decide_socket(&image, SBPF_SOCKET_NORMAL), SBPF_ALLOW);
  for (int c = SBPF_SOCKET_NORMAL + 1; c < SBPF_SOCKET_CLASS_MAX; ++c)
    EXPECT_EQ(sbpf_decide_socket(&image, c), SBPF_DENY) << c;
}

TEST(DecideSocket, a_named_class_is_allowed_and_no_other) {
  for (int named = SBPF_SOCKET_NORMAL + 1; named < SBPF_SOCKET_OTHER; ++named) {
    const std::string word(to_string(static_cast<sbpf_socket_class>(named)));
    Image image = image_of("{dangerously_allow_sockets: [" + word + "]}");
    for (int c = SBPF_SOCKET_NORMAL + 1; c < SBPF_SOCKET_CLASS_MAX; ++c)
      EXPECT_EQ(sbpf_decide_socket(&image, c), c == named ? SBPF_ALLOW : SBPF_DENY) << word << " " << c;
  }
}

TEST(DecideSocket, other_needs_allow_all_and_impossible_classes_are_denied) {
  Image all = image_of("{dangerously_allow_all: true}");
  EXPECT_EQ(sbpf_decide_socket(&all, SBPF_SOCKET_OTHER), SBPF_ALLOW);
  Image some = image_of("{dangerously_allow_sockets: [raw, packet]}");
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

struct OptionRow {
  const char* name;
  int level, option;
  bool allowed;
};

const OptionRow kOptions[] = {
    {"SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, true},
    {"SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, true},
    {"SO_MARK", SOL_SOCKET, SO_MARK, false},
    {"SO_DONTROUTE", SOL_SOCKET, SO_DONTROUTE, false},
    {"IP_TOS", IPPROTO_IP, IP_TOS, true},
    {"IP_TTL", IPPROTO_IP, IP_TTL, true},
    {"IP_PKTINFO", IPPROTO_IP, IP_PKTINFO, true},
    {"IP_ADD_MEMBERSHIP", IPPROTO_IP, IP_ADD_MEMBERSHIP, false},
    {"IP_DROP_MEMBERSHIP", IPPROTO_IP, IP_DROP_MEMBERSHIP, true},
    {"IP_UNBLOCK_SOURCE", IPPROTO_IP, IP_UNBLOCK_SOURCE, false},
    {"IP_BLOCK_SOURCE", IPPROTO_IP, IP_BLOCK_SOURCE, false},
    {"IP_ADD_SOURCE_MEMBERSHIP", IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, false},
    {"IP_DROP_SOURCE_MEMBERSHIP", IPPROTO_IP, IP_DROP_SOURCE_MEMBERSHIP, true},
    {"IP_MSFILTER", IPPROTO_IP, IP_MSFILTER, false},
    {"MCAST_JOIN_GROUP", IPPROTO_IP, MCAST_JOIN_GROUP, false},
    {"MCAST_BLOCK_SOURCE", IPPROTO_IP, MCAST_BLOCK_SOURCE, false},
    {"MCAST_UNBLOCK_SOURCE", IPPROTO_IP, MCAST_UNBLOCK_SOURCE, false},
    {"MCAST_LEAVE_GROUP", IPPROTO_IP, MCAST_LEAVE_GROUP, true},
    {"MCAST_JOIN_SOURCE_GROUP", IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, false},
    {"MCAST_LEAVE_SOURCE_GROUP", IPPROTO_IP, MCAST_LEAVE_SOURCE_GROUP, true},
    {"MCAST_MSFILTER", IPPROTO_IP, MCAST_MSFILTER, false},
    {"IP_MULTICAST_TTL", IPPROTO_IP, IP_MULTICAST_TTL, true},
    {"IP_MULTICAST_LOOP", IPPROTO_IP, IP_MULTICAST_LOOP, true},
    {"IP_MULTICAST_ALL", IPPROTO_IP, IP_MULTICAST_ALL, true},
    {"IP_OPTIONS", IPPROTO_IP, IP_OPTIONS, false},
    {"IP_RETOPTS", IPPROTO_IP, IP_RETOPTS, false},
    {"IP_HDRINCL", IPPROTO_IP, IP_HDRINCL, false},
    {"IP_ROUTER_ALERT", IPPROTO_IP, IP_ROUTER_ALERT, false},
    {"IP_TRANSPARENT", IPPROTO_IP, IP_TRANSPARENT, false},
    {"IP_IPSEC_POLICY", IPPROTO_IP, IP_IPSEC_POLICY, false},
    {"IP_XFRM_POLICY", IPPROTO_IP, IP_XFRM_POLICY, false},
    {"IPT_SO_SET_REPLACE", IPPROTO_IP, IPT_SO_SET_REPLACE, false},
    {"arptables_replace", IPPROTO_IP, 96, false},
    {"ebtables_replace", IPPROTO_IP, 128, false},
    {"MRT_INIT", IPPROTO_IP, 200, false},
    {"ipvs", IPPROTO_IP, 64 + 1024 + 64 + 1, false},
    {"ip_negative", IPPROTO_IP, -1, false},
    {"IPV6_V6ONLY", IPPROTO_IPV6, IPV6_V6ONLY, true},
    {"IPV6_UNICAST_HOPS", IPPROTO_IPV6, IPV6_UNICAST_HOPS, true},
    {"IPV6_RECVPKTINFO", IPPROTO_IPV6, IPV6_RECVPKTINFO, true},
    {"IPV6_RECVRTHDR", IPPROTO_IPV6, IPV6_RECVRTHDR, true},
    {"IPV6_RECVDSTOPTS", IPPROTO_IPV6, IPV6_RECVDSTOPTS, true},
    {"IPV6_TCLASS", IPPROTO_IPV6, IPV6_TCLASS, true},
    {"IPV6_RTHDR", IPPROTO_IPV6, IPV6_RTHDR, false},
    {"IPV6_RTHDRDSTOPTS", IPPROTO_IPV6, IPV6_RTHDRDSTOPTS, false},
    {"IPV6_HOPOPTS", IPPROTO_IPV6, IPV6_HOPOPTS, false},
    {"IPV6_DSTOPTS", IPPROTO_IPV6, IPV6_DSTOPTS, false},
    {"IPV6_2292RTHDR", IPPROTO_IPV6, IPV6_2292RTHDR, false},
    {"IPV6_2292HOPOPTS", IPPROTO_IPV6, IPV6_2292HOPOPTS, false},
    {"IPV6_2292DSTOPTS", IPPROTO_IPV6, IPV6_2292DSTOPTS, false},
    {"IPV6_2292PKTOPTIONS", IPPROTO_IPV6, IPV6_2292PKTOPTIONS, false},
    {"IPV6_ROUTER_ALERT", IPPROTO_IPV6, IPV6_ROUTER_ALERT, false},
    {"IPV6_HDRINCL", IPPROTO_IPV6, IPV6_HDRINCL, false},
    {"IPV6_IPSEC_POLICY", IPPROTO_IPV6, IPV6_IPSEC_POLICY, false},
    {"IPV6_XFRM_POLICY", IPPROTO_IPV6, IPV6_XFRM_POLICY, false},
    {"IPV6_TRANSPARENT", IPPROTO_IPV6, IPV6_TRANSPARENT, false},
    {"IPV6_FLOWLABEL_MGR", IPPROTO_IPV6, 32, false},
    {"IPV6_FLOWINFO_SEND", IPPROTO_IPV6, 33, false},
    {"IPV6_ROUTER_ALERT_ISOLATE", IPPROTO_IPV6, 30, false},
    {"IPV6_NEXTHOP", IPPROTO_IPV6, 9, false},
    {"ipv6_not_given", IPPROTO_IPV6, 79, false},
    {"ipv6_of_later_kernels", IPPROTO_IPV6, 131, false},
    {"IPV6_JOIN_GROUP", IPPROTO_IPV6, IPV6_JOIN_GROUP, false},
    {"IPV6_LEAVE_GROUP", IPPROTO_IPV6, IPV6_LEAVE_GROUP, true},
    {"IPV6_JOIN_ANYCAST", IPPROTO_IPV6, IPV6_JOIN_ANYCAST, false},
    {"IPV6_LEAVE_ANYCAST", IPPROTO_IPV6, IPV6_LEAVE_ANYCAST, true},
    {"ipv6_MCAST_JOIN_GROUP", IPPROTO_IPV6, MCAST_JOIN_GROUP, false},
    {"ipv6_MCAST_BLOCK_SOURCE", IPPROTO_IPV6, MCAST_BLOCK_SOURCE, false},
    {"ipv6_MCAST_UNBLOCK_SOURCE", IPPROTO_IPV6, MCAST_UNBLOCK_SOURCE, false},
    {"ipv6_MCAST_LEAVE_GROUP", IPPROTO_IPV6, MCAST_LEAVE_GROUP, true},
    {"ipv6_MCAST_JOIN_SOURCE_GROUP", IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, false},
    {"ipv6_MCAST_LEAVE_SOURCE_GROUP", IPPROTO_IPV6, MCAST_LEAVE_SOURCE_GROUP, true},
    {"ipv6_MCAST_MSFILTER", IPPROTO_IPV6, MCAST_MSFILTER, false},
    {"IPV6_MULTICAST_HOPS", IPPROTO_IPV6, IPV6_MULTICAST_HOPS, true},
    {"IPV6_MULTICAST_LOOP", IPPROTO_IPV6, IPV6_MULTICAST_LOOP, true},
    {"IPV6_MULTICAST_ALL", IPPROTO_IPV6, 29, true},
    {"IPV6_DONTFRAG", IPPROTO_IPV6, IPV6_DONTFRAG, true},
    {"IPV6_AUTOFLOWLABEL", IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, true},
    {"IPV6_FREEBIND", IPPROTO_IPV6, 78, true},
    {"ip_not_given", IPPROTO_IP, 27, false},
    {"IP_MTU_DISCOVER", IPPROTO_IP, IP_MTU_DISCOVER, true},
    {"IP_RECVERR", IPPROTO_IP, IP_RECVERR, true},
    {"IP_LOCAL_PORT_RANGE", IPPROTO_IP, 51, true},
    {"so_of_later_kernels", SOL_SOCKET, 85, false},
    {"so_negative", SOL_SOCKET, -1, false},
    {"UDP_SEGMENT", IPPROTO_UDP, 103, true},
    {"UDP_GRO", IPPROTO_UDP, 104, true},
    {"UDP_CORK", IPPROTO_UDP, 1, true},
    {"UDP_ENCAP", IPPROTO_UDP, 100, false},
    {"UDP_ENCAP_by_udplite", IPPROTO_UDPLITE, 100, false},
    {"UDP_CORK_by_udplite", IPPROTO_UDPLITE, 1, true},
    {"UDP_SEGMENT_by_udplite", IPPROTO_UDPLITE, 103, true},
    {"UDPLITE_SEND_CSCOV", IPPROTO_UDPLITE, 10, true},
    {"UDPLITE_RECV_CSCOV", IPPROTO_UDPLITE, 11, true},
    {"udplite_not_given", IPPROTO_UDPLITE, 12, false},
    {"udp_as_udplite", IPPROTO_UDP, 10, false},
    {"ICMP_FILTER", IPPROTO_RAW, 1, true},
    {"ICMPV6_FILTER", IPPROTO_ICMPV6, 1, true},
    {"MPTCP_INFO", 284, 1, true},
    {"SMC_LIMIT_HS", 286, 1, true},
    {"TCP_REPAIR_QUEUE", IPPROTO_TCP, TCP_REPAIR_QUEUE, false},
    {"TCP_REPAIR_WINDOW", IPPROTO_TCP, TCP_REPAIR_WINDOW, false},
    {"TCP_ULP", IPPROTO_TCP, TCP_ULP, false},
    {"tcp_of_later_kernels", IPPROTO_TCP, 47, false},
    {"IP6T_SO_SET_REPLACE", IPPROTO_IPV6, IP6T_SO_SET_REPLACE, false},
    {"MRT6_INIT", IPPROTO_IPV6, 200, false},
    {"ipv6_negative", IPPROTO_IPV6, -1, false},
    {"TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, true},
    {"TCP_FASTOPEN_CONNECT", IPPROTO_TCP, TCP_FASTOPEN_CONNECT, true},
    {"TCP_REPAIR", IPPROTO_TCP, TCP_REPAIR, false},
    {"SCTP_NODELAY", IPPROTO_SCTP, SCTP_NODELAY, true},
    {"SCTP_SOCKOPT_BINDX_ADD", IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_ADD, false},
    {"SCTP_SOCKOPT_BINDX_REM", IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_REM, false},
    {"SCTP_SOCKOPT_CONNECTX_OLD", IPPROTO_SCTP, SCTP_SOCKOPT_CONNECTX_OLD, false},
    {"SCTP_SOCKOPT_CONNECTX", IPPROTO_SCTP, SCTP_SOCKOPT_CONNECTX, false},
};

TEST(DecideSockopt, table) {
  Image image = image_of("{connect: [{address: 127.0.0.1, ports: [1]}]}");
  Image all = image_of("{dangerously_allow_all: true}");
  Image missing;
  for (const OptionRow& row : kOptions) {
    const int expected = row.allowed ? SBPF_ALLOW : SBPF_DENY;
    EXPECT_EQ(sbpf_decide_sockopt(&image, SOCK_STREAM, row.level, row.option), expected) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&missing, SOCK_STREAM, row.level, row.option), expected) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&all, SOCK_STREAM, row.level, row.option), SBPF_ALLOW) << row.name;
  }
}

TEST(DecideSockopt, port_range_of_streams_alone) {
  Image image = image_of("{bind: [{address: 127.0.0.1, ports: [0]}]}");
  Image all = image_of("{dangerously_allow_all: true}");
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW}) {
    EXPECT_EQ(sbpf_decide_sockopt(&image, type, IPPROTO_IP, 51), type == SOCK_STREAM ? SBPF_ALLOW : SBPF_DENY) << type;
    EXPECT_EQ(sbpf_decide_sockopt(&all, type, IPPROTO_IP, 51), SBPF_ALLOW) << type;
    EXPECT_EQ(sbpf_decide_sockopt(&image, type, IPPROTO_IP, IP_TTL), SBPF_ALLOW) << type;
    EXPECT_EQ(sbpf_decide_sockopt(&image, type, IPPROTO_TCP, 46), SBPF_ALLOW) << type;
  }
}

TEST(DecideSockopt, no_number_that_is_none) {
  Image image = image_of("{connect: [{address: 127.0.0.1, ports: [1]}]}");
  const int levels[] = {SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE};
  for (const int level : levels)
    for (const int option : {-1, -64, -63, -44, -57, 128, 192, 1 << 30}) {
      EXPECT_EQ(sbpf_decide_sockopt(&image, SOCK_STREAM, level, option), SBPF_DENY) << level << " " << option;
    }
}

const OptionRow kOfInterfaces[] = {
    {"SO_BINDTODEVICE", SOL_SOCKET, SO_BINDTODEVICE, false},   {"SO_BINDTOIFINDEX", SOL_SOCKET, 62, false},
    {"IP_MULTICAST_IF", IPPROTO_IP, IP_MULTICAST_IF, false},   {"IP_UNICAST_IF", IPPROTO_IP, IP_UNICAST_IF, false},
    {"IPV6_MULTICAST_IF", IPPROTO_IPV6, IPV6_MULTICAST_IF, false}, {"IPV6_PKTINFO", IPPROTO_IPV6, IPV6_PKTINFO, false},
    {"IPV6_UNICAST_IF", IPPROTO_IPV6, 76, false},
};

TEST(DecideSockopt, none_that_names_an_interface_whatever_is_listed) {
  Image none = image_of("{connect: [{address: 127.0.0.1, ports: [1]}]}");
  Image some = image_of("{interfaces: [eth0]}");
  Image all = image_of("{dangerously_allow_all: true}");
  Image missing;
  for (const OptionRow& row : kOfInterfaces) {
    EXPECT_TRUE(names_interface(row.level, row.option)) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&none, SOCK_STREAM, row.level, row.option), SBPF_DENY) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&missing, SOCK_STREAM, row.level, row.option), SBPF_DENY) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&some, SOCK_STREAM, row.level, row.option), SBPF_DENY) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&all, SOCK_STREAM, row.level, row.option), SBPF_ALLOW) << row.name;
  }
  // Such a list opens nothing else.
  for (const OptionRow& row : kOptions) {
    EXPECT_FALSE(names_interface(row.level, row.option)) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&some, SOCK_STREAM, row.level, row.option), row.allowed ? SBPF_ALLOW : SBPF_DENY) << row.name;
  }
}

TEST(DecideInterface, by_whole_names) {
  Image image = image_of("{interfaces: [eth0, a.very-long_if+]}");
  const auto listed = [&image](std::string name) {
    name.resize(16);
    return sbpf_lists_interface(&image, name.data()) != 0;
  };
  EXPECT_TRUE(listed("eth0"));
  EXPECT_TRUE(listed("a.very-long_if+"));
  for (const char* other : {"", "eth", "eth00", "lo", "ETH0", "a.very-long_if"}) EXPECT_FALSE(listed(other)) << other;
}

TEST(DecideInterface, addresses_of_lo_and_those_with_a_scope) {
  struct Row {
    const char* address;
    bool loopback, scoped, group = false;
  };
  for (const Row& row : {Row{"127.0.0.1", true, false}, Row{"127.255.255.254", true, false}, Row{"126.255.255.255", false, false},
                         Row{"128.0.0.1", false, false}, Row{"::1", true, false}, Row{"::2", false, false}, Row{"1::1", false, false},
                         Row{"0.0.0.0", false, false}, Row{"10.0.0.127", false, false}, Row{"::", false, false},
                         Row{"fe80::1", false, true}, Row{"febf:ffff::1", false, true}, Row{"fec0::1", false, false},
                         Row{"fe40::1", false, false}, Row{"ff02::1", false, true, true}, Row{"ff31::1", false, true, true}, Row{"ff05::2", false, false, true},
                         Row{"fd00::1", false, false}, Row{"223.255.255.255", false, false}, Row{"224.0.0.1", false, false, true},
                         Row{"255.255.255.255", false, false, true}, Row{"2001:db8::1", false, false}}) {
    const Address address = internal::parse_host(row.address).value();
    std::uint64_t words[2];
    std::memcpy(words, address.data(), sizeof words);
    const __u64 be[2] = {words[0], words[1]};
    EXPECT_EQ(sbpf_is_loopback(be) != 0, row.loopback) << row.address;
    EXPECT_EQ(sbpf_has_scope(be) != 0, row.scoped) << row.address;
    EXPECT_EQ(sbpf_is_group(be) != 0, row.group) << row.address;
  }
}

const OptionRow kAncillary[] = {
    {"SCM_RIGHTS", SOL_SOCKET, SCM_RIGHTS, true},
    {"SCM_CREDENTIALS", SOL_SOCKET, SCM_CREDENTIALS, true},
    {"SO_MARK", SOL_SOCKET, SO_MARK, false},
    {"IP_PKTINFO", IPPROTO_IP, IP_PKTINFO, true},
    {"IP_TTL", IPPROTO_IP, IP_TTL, true},
    {"IP_RETOPTS", IPPROTO_IP, IP_RETOPTS, false},
    {"IPV6_PKTINFO", IPPROTO_IPV6, IPV6_PKTINFO, true},
    {"IPV6_HOPLIMIT", IPPROTO_IPV6, IPV6_HOPLIMIT, true},
    {"IPV6_TCLASS", IPPROTO_IPV6, IPV6_TCLASS, true},
    {"IPV6_RTHDR", IPPROTO_IPV6, IPV6_RTHDR, false},
    {"IPV6_RTHDRDSTOPTS", IPPROTO_IPV6, IPV6_RTHDRDSTOPTS, false},
    {"IPV6_HOPOPTS", IPPROTO_IPV6, IPV6_HOPOPTS, false},
    {"IPV6_DSTOPTS", IPPROTO_IPV6, IPV6_DSTOPTS, false},
    {"IPV6_2292RTHDR", IPPROTO_IPV6, IPV6_2292RTHDR, false},
    {"IPV6_2292HOPOPTS", IPPROTO_IPV6, IPV6_2292HOPOPTS, false},
    {"IPV6_2292DSTOPTS", IPPROTO_IPV6, IPV6_2292DSTOPTS, false},
    {"IPV6_FLOWINFO", IPPROTO_IPV6, IPV6_FLOWINFO, false},
    {"IPV6_DONTFRAG", IPPROTO_IPV6, IPV6_DONTFRAG, true},
    {"IP_TOS", IPPROTO_IP, IP_TOS, true},
    {"IP_PROTOCOL", IPPROTO_IP, 52, false},
    {"ipv6_of_later_kernels", IPPROTO_IPV6, 131, false},
    {"SCTP_SNDRCV", IPPROTO_SCTP, SCTP_SNDRCV, true},
    {"SCTP_DSTADDRV4", IPPROTO_SCTP, SCTP_DSTADDRV4, false},
    {"SCTP_DSTADDRV6", IPPROTO_SCTP, SCTP_DSTADDRV6, false},
    {"UDP_SEGMENT", IPPROTO_UDP, 103, true},
};

TEST(DecideCmsg, those_that_name_an_interface) {
  for (const OptionRow& row : kAncillary) {
    const bool names = row.level != SOL_SOCKET && (row.name == std::string("IP_PKTINFO") || row.name == std::string("IPV6_PKTINFO"));
    EXPECT_EQ(sbpf_is_packet_info(row.level, row.option) != 0, names) << row.name;
  }
  EXPECT_TRUE(sbpf_is_packet_info(IPPROTO_IPV6, IPV6_2292PKTINFO));
}

TEST(DecideCmsg, table) {
  for (const OptionRow& row : kAncillary)
    EXPECT_EQ(sbpf_risky_cmsg(row.level, row.option) == 0, row.allowed) << row.name;
}

}  // namespace
}  // namespace sbpf::policy
