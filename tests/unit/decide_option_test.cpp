// SPDX-License-Identifier: Apache-2.0
// The tables of socket options and ancillary data, and names of interfaces, of bpf/decide.h. Numbers come from the
// system's headers here, so that a wrong one there is seen.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/in6.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <linux/sctp.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "policy/image.h"
#include "policy/values.h"
#include "tests/unit/decide_image.h"

namespace sbpf::policy {
namespace {

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
  Image image = image_of("network: {connect: [{address: 127.0.0.1, ports: [1]}]}");
  Image all = image_of("network: {dangerously_allow_all: true}");
  Image missing;
  for (const OptionRow& row : kOptions) {
    const int expected = row.allowed ? SBPF_ALLOW : SBPF_DENY;
    EXPECT_EQ(sbpf_decide_sockopt(&image, SOCK_STREAM, row.level, row.option), expected) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&missing, SOCK_STREAM, row.level, row.option), expected) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&all, SOCK_STREAM, row.level, row.option), SBPF_ALLOW) << row.name;
  }
}

TEST(DecideSockopt, port_range_of_streams_alone) {
  Image image = image_of("network: {bind: [{address: 127.0.0.1, ports: [0]}]}");
  Image all = image_of("network: {dangerously_allow_all: true}");
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW}) {
    EXPECT_EQ(sbpf_decide_sockopt(&image, type, IPPROTO_IP, 51), type == SOCK_STREAM ? SBPF_ALLOW : SBPF_DENY) << type;
    EXPECT_EQ(sbpf_decide_sockopt(&all, type, IPPROTO_IP, 51), SBPF_ALLOW) << type;
    EXPECT_EQ(sbpf_decide_sockopt(&image, type, IPPROTO_IP, IP_TTL), SBPF_ALLOW) << type;
    EXPECT_EQ(sbpf_decide_sockopt(&image, type, IPPROTO_TCP, 46), SBPF_ALLOW) << type;
  }
}

TEST(DecideSockopt, no_number_that_is_none) {
  Image image = image_of("network: {connect: [{address: 127.0.0.1, ports: [1]}]}");
  const int levels[] = {SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE};
  for (const int level : levels)
    for (const int option : {-1, -64, -63, -44, -57, 128, 192, 1 << 30}) {
      EXPECT_EQ(sbpf_decide_sockopt(&image, SOCK_STREAM, level, option), SBPF_DENY) << level << " " << option;
    }
}

const OptionRow kOfInterfaces[] = {
    {"SO_BINDTODEVICE", SOL_SOCKET, SO_BINDTODEVICE, false},
    {"SO_BINDTOIFINDEX", SOL_SOCKET, 62, false},
    {"IP_MULTICAST_IF", IPPROTO_IP, IP_MULTICAST_IF, false},
    {"IP_UNICAST_IF", IPPROTO_IP, IP_UNICAST_IF, false},
    {"IPV6_MULTICAST_IF", IPPROTO_IPV6, IPV6_MULTICAST_IF, false},
    {"IPV6_PKTINFO", IPPROTO_IPV6, IPV6_PKTINFO, false},
    {"IPV6_UNICAST_IF", IPPROTO_IPV6, 76, false},
};

TEST(DecideSockopt, none_that_names_an_interface_whatever_is_listed) {
  Image none = image_of("network: {connect: [{address: 127.0.0.1, ports: [1]}]}");
  Image some = image_of("network: {interfaces: [eth0]}");
  Image all = image_of("network: {dangerously_allow_all: true}");
  Image missing;
  for (const OptionRow& row : kOfInterfaces) {
    EXPECT_TRUE(is_interface_option(row.level, row.option)) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&none, SOCK_STREAM, row.level, row.option), SBPF_DENY) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&missing, SOCK_STREAM, row.level, row.option), SBPF_DENY) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&some, SOCK_STREAM, row.level, row.option), SBPF_DENY) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&all, SOCK_STREAM, row.level, row.option), SBPF_ALLOW) << row.name;
  }
  // Such a list opens nothing else.
  for (const OptionRow& row : kOptions) {
    EXPECT_FALSE(is_interface_option(row.level, row.option)) << row.name;
    EXPECT_EQ(sbpf_decide_sockopt(&some, SOCK_STREAM, row.level, row.option), row.allowed ? SBPF_ALLOW : SBPF_DENY)
        << row.name;
  }
}

TEST(DecideInterface, by_whole_names) {
  Image image = image_of("network: {interfaces: [eth0, a.very-long_if+]}");
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
  for (const Row& row : {Row{"127.0.0.1", true, false},
                         Row{"127.255.255.254", true, false},
                         Row{"126.255.255.255", false, false},
                         Row{"128.0.0.1", false, false},
                         Row{"::1", true, false},
                         Row{"::2", false, false},
                         Row{"1::1", false, false},
                         Row{"0.0.0.0", false, false},
                         Row{"10.0.0.127", false, false},
                         Row{"::", false, false},
                         Row{"fe80::1", false, true},
                         Row{"febf:ffff::1", false, true},
                         Row{"fec0::1", false, false},
                         Row{"fe40::1", false, false},
                         Row{"ff02::1", false, true, true},
                         Row{"ff31::1", false, true, true},
                         Row{"ff05::2", false, false, true},
                         Row{"fd00::1", false, false},
                         Row{"223.255.255.255", false, false},
                         Row{"224.0.0.1", false, false, true},
                         Row{"255.255.255.255", false, false, true},
                         Row{"2001:db8::1", false, false}}) {
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
    const bool names =
        row.level != SOL_SOCKET && (row.name == std::string("IP_PKTINFO") || row.name == std::string("IPV6_PKTINFO"));
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
