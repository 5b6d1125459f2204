// SPDX-License-Identifier: Apache-2.0
// The options that common programs set (seen by `strace -f -e trace=setsockopt` on Debian 12, each as server and as
// client on loopback) are allowed: what a sandbox is refused is not what they need.
#include <gtest/gtest.h>
#include <linux/types.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <ostream>
#include <vector>

#include "bpf/abi.h"

namespace {
// No policy is asked about what is listed.
const void* sbpf_policy_lookup(void* /*policy*/, const sbpf_rule_key* /*key*/) { return nullptr; }
}  // namespace

#include "bpf/decide.h"

namespace {

constexpr int kIpv6RecvTclass = 66, kIpv6Tclass = 67;

struct Program {
  const char* name;
  std::vector<int> so, ip, ipv6, tcp;
};
std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.name; }

class ProgramOptions : public testing::TestWithParam<Program> {};

TEST_P(ProgramOptions, are_allowed) {
  const auto all = [&](int level, const std::vector<int>& options) {
    for (const int option : options) EXPECT_TRUE(sbpf_is_harmless_option(level, option)) << level << " " << option;
  };
  all(SOL_SOCKET, GetParam().so);
  all(IPPROTO_IP, GetParam().ip);
  all(IPPROTO_IPV6, GetParam().ipv6);
  all(IPPROTO_TCP, GetParam().tcp);
  EXPECT_FALSE(sbpf_is_harmless_option(IPPROTO_IPV6, 32));  // IPV6_FLOWLABEL_MGR, as a control
}

INSTANTIATE_TEST_SUITE_P(seen, ProgramOptions,
                         testing::Values(Program{"curl_7_88_and_nginx_1_22",
                                                 {SO_REUSEADDR, SO_KEEPALIVE, SO_REUSEPORT},
                                                 {},
                                                 {},
                                                 {TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT,
                                                  TCP_DEFER_ACCEPT, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT}},
                                         Program{"node_18",
                                                 {SO_REUSEADDR, SO_BROADCAST, SO_RCVBUF, SO_KEEPALIVE},
                                                 {IP_TTL, IP_MULTICAST_TTL, IP_MULTICAST_LOOP},
                                                 {IPV6_MULTICAST_LOOP, IPV6_V6ONLY},
                                                 {TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT}},
                                         Program{"python_3_11_asyncio_requests_aiohttp",
                                                 {SO_REUSEADDR, SO_BROADCAST, SO_KEEPALIVE, SO_REUSEPORT},
                                                 {},
                                                 {IPV6_V6ONLY},
                                                 {TCP_NODELAY}},
                                         Program{"go_1_19",
                                                 {SO_REUSEADDR, SO_BROADCAST, SO_RCVBUF, SO_KEEPALIVE, SO_LINGER},
                                                 {},
                                                 {IPV6_V6ONLY},
                                                 {TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL}},
                                         Program{"java_17",
                                                 {SO_REUSEADDR, SO_BROADCAST, SO_KEEPALIVE, SO_LINGER, SO_REUSEPORT},
                                                 {IP_MULTICAST_TTL},
                                                 {IPV6_MULTICAST_HOPS, IPV6_V6ONLY, IPV6_RECVPKTINFO, kIpv6Tclass},
                                                 {TCP_NODELAY}},
                                         Program{
                                             "postgresql_15",
                                             {SO_REUSEADDR, SO_KEEPALIVE},
                                             {},
                                             {IPV6_V6ONLY},
                                             {TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT}},
                                         Program{"redis_7",
                                                 {SO_REUSEADDR, SO_KEEPALIVE},
                                                 {},
                                                 {IPV6_V6ONLY},
                                                 {TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT}},
                                         Program{"openssh_9_2", {}, {IP_TOS}, {}, {}},
                                         Program{"quic_go_0_34",
                                                 {SO_BROADCAST, SO_RCVBUF},
                                                 {IP_PKTINFO, IP_MTU_DISCOVER, IP_RECVTOS},
                                                 {IPV6_MTU_DISCOVER, IPV6_V6ONLY, IPV6_RECVPKTINFO, kIpv6RecvTclass},
                                                 {}},
                                         Program{"aioquic", {}, {}, {IPV6_V6ONLY}, {}}),
                         [](const auto& test) { return test.param.name; });

// Of no kind of socket that this version knows, or of one that no policy opens by name: DCCP, L2TP, TLS, XDP.
TEST(DecideSockoptLevel, none_that_is_not_listed) {
  for (const int level : {-1,  2,   5,   16,  18,  33,  40,  42,  57,  59,  131,     133,
                          135, 137, 254, 256, 269, 273, 282, 283, 285, 287, 1 << 16, 1 << 30})
    for (const int option : {0, 1, 100, 103})
      EXPECT_FALSE(sbpf_is_harmless_option(level, option)) << level << " " << option;
}

TEST(DecideSeveral, by_the_system_call) {
  struct Row {
    const char* name;
    std::uint64_t number, first, third;
    bool several;
  };
  constexpr std::uint64_t kX32 = 1u << 30;
  for (const Row& row :
       {Row{"sendmmsg", 307, 3, 2, true}, Row{"sendmmsg of one", 307, 3, 1, false},
        Row{"sendmsg", 46, 3, 0x4000, false}, Row{"sendto", 44, 3, 100, false}, Row{"i386 sendmmsg", 345, 3, 2, true},
        Row{"i386 sendmmsg of one", 345, 3, 1, false}, Row{"socketcall sendmmsg", 102, 20, 0, true},
        Row{"socketcall sendmsg", 102, 16, 2, false}, Row{"x32 sendmmsg", kX32 | 538, 3, 2, true},
        Row{"x32 sendmmsg by the number of x86-64", kX32 | 307, 3, 2, true}, Row{"x32 sendmsg", kX32 | 518, 3, 0, true},
        Row{"io_uring_enter", 426, 3, 5, false}, Row{"no system call", ~0ull, 3, 2, false},
        Row{"-1 of i386", 0xffffffff, 3, 2, false}})
    EXPECT_EQ(sbpf_sends_several(row.number, row.first, row.third) != 0, row.several) << row.name;
}

// The kernel side is asked with the socket's own setting, user space only as sockets are without it.
TEST(DecideNarrowed, a_socket_of_ipv6_alone_is_put_on_no_ipv4) {
  const __u64 wildcard6[2] = {0, 0}, mapped[2] = {0, 0xffff0000u}, one[2] = {0, __builtin_bswap64(1)}, far[2] = {1, 0};
  const __u64 loopback4 = 0x0100007fffff0000u, loopback6 = one[1];
  EXPECT_TRUE(sbpf_is_wildcard(wildcard6));
  EXPECT_TRUE(sbpf_is_wildcard(mapped));
  EXPECT_FALSE(sbpf_is_wildcard(one));
  EXPECT_FALSE(sbpf_is_wildcard(far));
  EXPECT_EQ(sbpf_narrowed(wildcard6, 0, 0), loopback4);
  EXPECT_EQ(sbpf_narrowed(wildcard6, 0, 1), loopback6);
  EXPECT_EQ(sbpf_narrowed(wildcard6, 1, 0), 0u);
  EXPECT_EQ(sbpf_narrowed(wildcard6, 1, 1), loopback6);
  EXPECT_EQ(sbpf_narrowed(mapped, 0, 0), loopback4);
  EXPECT_EQ(sbpf_narrowed(mapped, 0, 1), 0u);
}

}  // namespace
