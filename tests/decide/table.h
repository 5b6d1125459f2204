// SPDX-License-Identifier: Apache-2.0
// The decision table: which endpoint a policy allows. One table for the native unit tests, which ask sbpf_decide_net()
// on the compiled image, and for the live tests, which ask the kernel with real system calls. Depends on nothing.
//
// Addresses are loopback, the wildcard, or of the documentation networks (TEST-NET, 2001:db8::/32), so that a live run
// reaches nobody. "Allowed" means that sbpf does not refuse; nothing needs to listen there, nor the address be local.
#pragma once

#include <cstdint>

namespace sbpf::decide_table {

enum class Op { connect, bind };  // connect is also sendto
enum class Proto { tcp, udp };

struct Row {
  const char* name;    // unique
  const char* policy;  // YAML
  Op op;
  Proto proto;
  const char* address;  // as given to the system call: ::ffff:… means an AF_INET6 socket
  std::uint16_t port;
  bool allowed;
  const char* narrowed = nullptr;  // the address that a bind to the wildcard is put on instead
};

inline constexpr char kNone[] = "version: 1\nname: none\nnetwork: none\n";
inline constexpr char kSilent[] = "version: 1\nname: silent\n";
inline constexpr char kAll[] = "version: 1\nname: all\nnetwork: {dangerously_allow_all: true}\n";
inline constexpr char kProxy[] = R"(version: 1
name: proxy
network:
  connect:
    - {address: 127.0.0.1, ports: [18443], protocol: tcp}
    - {address: 127.0.0.53, ports: [53]}
)";
inline constexpr char kLoopback6[] = R"(version: 1
name: loopback6
network:
  connect:
    - {address: "::1", ports: [8080], protocol: tcp}
  bind:
    - {address: "::1", ports: [8081], protocol: tcp}
)";
inline constexpr char kMapped[] = R"(version: 1
name: mapped
network:
  connect:
    - {address: "::ffff:127.0.0.5", ports: [5000], protocol: tcp}
    - {cidr: "::ffff:127.1.0.0/112", ports: [5001], protocol: udp}
)";
inline constexpr char kRanges[] = R"(version: 1
name: ranges
network:
  connect:
    - {address: 127.0.0.1, ports: [6000-6010, 7000-7999], protocol: tcp}
    - {address: 127.0.0.2, ports: [65520-65535], protocol: udp}
    - {address: 127.0.0.3, ports: [1-65535], protocol: any}
)";
inline constexpr char kNets[] = R"(version: 1
name: nets
network:
  connect:
    - {cidr: 127.8.0.0/13, ports: [4000], protocol: tcp}
    - {cidr: 127.8.8.0/24, ports: [4100-4199], protocol: tcp}
    - {address: 127.8.8.8, ports: [4200], protocol: tcp}
    - {cidr: 192.0.2.0/24, ports: [443], protocol: tcp}
    - {cidr: "2001:db8:1::/48", ports: [443], protocol: any}
)";
inline constexpr char kEverywhere[] = R"(version: 1
name: everywhere
network:
  connect:
    - {cidr: 0.0.0.0/0, ports: [123], protocol: udp}
    - {cidr: "2000::/3", ports: [123], protocol: udp}
)";
inline constexpr char kWide[] = R"(version: 1
name: wide
network:
  connect:
    - {cidr: 0.0.0.0/0, ports: [80], protocol: tcp}
    - {cidr: "fc00::/7", ports: [80], protocol: tcp}
    - {cidr: "fe80::/10", ports: [80], protocol: tcp}
    - {cidr: "64:ff9b::/96", ports: [80], protocol: tcp}
)";
inline constexpr char kBesideMetadata[] = R"(version: 1
name: beside
network:
  connect:
    - {address: "::169.254.1.1", ports: [80], protocol: tcp}
    - {cidr: 169.254.0.0/15, ports: [80], protocol: tcp}
)";
inline constexpr char kMetadata[] = R"(version: 1
name: metadata
network:
  dangerously_allow_metadata: true
  connect:
    - {cidr: 0.0.0.0/0, ports: [80], protocol: tcp}
    - {cidr: "fc00::/7", ports: [80], protocol: tcp}
    - {cidr: "fe80::/10", ports: [80], protocol: tcp}
    - {cidr: "64:ff9b::/96", ports: [80], protocol: tcp}
)";
// Networks with 0.0.0.0 in them, which the kernel leads to 127.0.0.1, and without that.
inline constexpr char kHalf[] = R"(version: 1
name: half
network:
  connect:
    - {cidr: 0.0.0.0/2, ports: [80], protocol: tcp}
    - {cidr: 128.0.0.0/1, ports: [80], protocol: tcp}
    - {cidr: 0.0.0.0/1, ports: [81], protocol: tcp}
    - {cidr: 0.0.0.0/2, ports: [82], protocol: tcp}
    - {address: 127.0.0.1, ports: [82], protocol: tcp}
  bind:
    - {cidr: 0.0.0.0/2, ports: [83], protocol: tcp}
)";
inline constexpr char kNamedWildcard[] = R"(version: 1
name: named
network:
  connect:
    - {address: 0.0.0.0, ports: [80], protocol: tcp}
    - {address: "::", ports: [1000-2000], protocol: tcp}
)";
inline constexpr char kBind[] = R"(version: 1
name: bind
network:
  bind:
    - {address: 127.0.0.1, ports: [8000-8010], protocol: tcp}
    - {address: 0.0.0.0, ports: [9000], protocol: udp}
    - {address: "::", ports: [0], protocol: any}
    - {cidr: 127.64.0.0/16, ports: [0, 20000-30000], protocol: any}
)";
inline constexpr char kServers[] = R"(version: 1
name: servers
network:
  bind:
    - {address: 127.0.0.1, ports: [0, 3000], protocol: tcp}
    - {address: "::1", ports: [0, 3000], protocol: tcp}
)";
inline constexpr char kAuditServers[] = R"(version: 1
name: audit-servers
mode: audit
network: {bind: [{address: 127.0.0.1, ports: [3000], protocol: tcp}]}
)";
inline constexpr char kAudit[] = R"(version: 1
name: audit
mode: audit
network: {connect: [{address: 127.0.0.1, ports: [80], protocol: tcp}]}
)";

inline constexpr Op kConnect = Op::connect;
inline constexpr Op kBindOp = Op::bind;
inline constexpr Proto kTcp = Proto::tcp;
inline constexpr Proto kUdp = Proto::udp;

// clang-format off
inline constexpr Row kRows[] = {
    {"none_denies_loopback_tcp", kNone, kConnect, kTcp, "127.0.0.1", 80, false},
    {"none_denies_loopback_udp", kNone, kConnect, kUdp, "127.0.0.1", 53, false},
    {"none_denies_loopback6", kNone, kConnect, kTcp, "::1", 80, false},
    {"none_denies_mapped", kNone, kConnect, kTcp, "::ffff:127.0.0.1", 80, false},
    {"none_denies_wildcard_destination", kNone, kConnect, kTcp, "0.0.0.0", 80, false},
    {"none_denies_wildcard6_destination", kNone, kConnect, kTcp, "::", 80, false},
    {"none_denies_test_net", kNone, kConnect, kUdp, "192.0.2.1", 53, false},
    {"none_denies_documentation6", kNone, kConnect, kUdp, "2001:db8::1", 53, false},
    {"none_denies_bind", kNone, kBindOp, kTcp, "127.0.0.1", 8000, false},
    {"none_denies_bind_any_port", kNone, kBindOp, kTcp, "0.0.0.0", 0, false},
    {"silent_policy_denies_connect", kSilent, kConnect, kTcp, "127.0.0.1", 443, false},
    {"silent_policy_denies_bind", kSilent, kBindOp, kUdp, "::1", 443, false},

    {"all_allows_tcp", kAll, kConnect, kTcp, "127.0.0.1", 80, true},
    {"all_allows_udp6", kAll, kConnect, kUdp, "::1", 1, true},
    {"all_allows_bind", kAll, kBindOp, kTcp, "0.0.0.0", 0, true},
    {"all_allows_mapped", kAll, kConnect, kTcp, "::ffff:127.0.0.1", 65535, true},

    {"proxy_allows_its_port", kProxy, kConnect, kTcp, "127.0.0.1", 18443, true},
    {"proxy_denies_udp_on_its_port", kProxy, kConnect, kUdp, "127.0.0.1", 18443, false},
    {"proxy_denies_port_below", kProxy, kConnect, kTcp, "127.0.0.1", 18442, false},
    {"proxy_denies_port_above", kProxy, kConnect, kTcp, "127.0.0.1", 18444, false},
    {"proxy_denies_port_with_bytes_swapped", kProxy, kConnect, kTcp, "127.0.0.1", 2888, false},
    {"proxy_denies_port_zero", kProxy, kConnect, kUdp, "127.0.0.1", 0, false},
    {"proxy_denies_next_loopback", kProxy, kConnect, kTcp, "127.0.0.2", 18443, false},
    {"proxy_denies_loopback6", kProxy, kConnect, kTcp, "::1", 18443, false},
    {"proxy_denies_wildcard", kProxy, kConnect, kTcp, "0.0.0.0", 18443, false},
    {"proxy_denies_wildcard6", kProxy, kConnect, kTcp, "::", 18443, false},
    {"half_denies_wildcard_that_leads_to_loopback", kHalf, kConnect, kTcp, "0.0.0.0", 80, false},
    {"half_denies_mapped_wildcard_that_leads_to_loopback", kHalf, kConnect, kTcp, "::ffff:0.0.0.0", 80, false},
    {"half_allows_the_next_address", kHalf, kConnect, kTcp, "0.0.0.1", 80, true},
    {"half_allows_wildcard_by_a_network_with_loopback", kHalf, kConnect, kTcp, "0.0.0.0", 81, true},
    {"half_denies_wildcard_by_a_network_beside_a_rule_for_loopback", kHalf, kConnect, kTcp, "0.0.0.0", 82, false},
    {"half_binds_by_no_rule_for_connections", kHalf, kBindOp, kTcp, "0.0.0.0", 81, false},
    {"half_binds_wildcard_by_any_network", kHalf, kBindOp, kTcp, "0.0.0.0", 83, true},
    {"half_denies_loopback", kHalf, kConnect, kTcp, "127.0.0.1", 80, false},
    {"named_wildcard_allows_itself", kNamedWildcard, kConnect, kTcp, "0.0.0.0", 80, true},
    {"named_wildcard6_allows_itself", kNamedWildcard, kConnect, kTcp, "::", 1500, true},
    {"named_wildcard_denies_loopback", kNamedWildcard, kConnect, kTcp, "127.0.0.1", 80, false},
    {"named_wildcard6_denies_loopback", kNamedWildcard, kConnect, kTcp, "::1", 1500, false},
    {"wide_allows_wildcard", kWide, kConnect, kTcp, "0.0.0.0", 80, true},
    {"wide_denies_wildcard6", kWide, kConnect, kTcp, "::", 80, false},
    {"proxy_allows_mapped_spelling", kProxy, kConnect, kTcp, "::ffff:127.0.0.1", 18443, true},
    {"proxy_denies_v4_compatible_spelling", kProxy, kConnect, kTcp, "::127.0.0.1", 18443, false},
    {"proxy_denies_mapped_wildcard", kProxy, kConnect, kTcp, "::ffff:0.0.0.0", 18443, false},
    {"proxy_denies_bind_of_what_may_be_connected", kProxy, kBindOp, kTcp, "127.0.0.1", 18443, false},
    {"resolver_allows_udp", kProxy, kConnect, kUdp, "127.0.0.53", 53, true},
    {"resolver_allows_tcp", kProxy, kConnect, kTcp, "127.0.0.53", 53, true},
    {"resolver_denies_other_address", kProxy, kConnect, kUdp, "127.0.0.54", 53, false},
    {"resolver_denies_mdns_port", kProxy, kConnect, kUdp, "127.0.0.53", 5353, false},
    {"canary_port_is_an_ordinary_port_elsewhere", kAll, kConnect, kTcp, "127.0.0.1", 21328, true},

    {"loopback6_allows_its_port", kLoopback6, kConnect, kTcp, "::1", 8080, true},
    {"loopback6_denies_v4", kLoopback6, kConnect, kTcp, "127.0.0.1", 8080, false},
    {"loopback6_denies_mapped_v4", kLoopback6, kConnect, kTcp, "::ffff:127.0.0.1", 8080, false},
    {"loopback6_denies_mapped_0_0_0_1", kLoopback6, kConnect, kTcp, "::ffff:0.0.0.1", 8080, false},
    {"loopback6_allows_bind", kLoopback6, kBindOp, kTcp, "::1", 8081, true},
    {"loopback6_denies_connect_to_bind_port", kLoopback6, kConnect, kTcp, "::1", 8081, false},
    {"loopback6_denies_bind_of_connect_port", kLoopback6, kBindOp, kTcp, "::1", 8080, false},

    {"mapped_rule_allows_v4", kMapped, kConnect, kTcp, "127.0.0.5", 5000, true},
    {"mapped_rule_allows_mapped", kMapped, kConnect, kTcp, "::ffff:127.0.0.5", 5000, true},
    {"mapped_network_allows_v4", kMapped, kConnect, kUdp, "127.1.255.255", 5001, true},
    {"mapped_network_denies_beyond", kMapped, kConnect, kUdp, "127.2.0.0", 5001, false},
    {"mapped_network_denies_below", kMapped, kConnect, kUdp, "127.0.255.255", 5001, false},

    {"short_range_allows_first", kRanges, kConnect, kTcp, "127.0.0.1", 6000, true},
    {"short_range_allows_last", kRanges, kConnect, kTcp, "127.0.0.1", 6010, true},
    {"short_range_denies_before", kRanges, kConnect, kTcp, "127.0.0.1", 5999, false},
    {"short_range_denies_after", kRanges, kConnect, kTcp, "127.0.0.1", 6011, false},
    {"long_range_allows_first", kRanges, kConnect, kTcp, "127.0.0.1", 7000, true},
    {"long_range_allows_middle", kRanges, kConnect, kTcp, "127.0.0.1", 7500, true},
    {"long_range_allows_last", kRanges, kConnect, kTcp, "127.0.0.1", 7999, true},
    {"long_range_denies_before", kRanges, kConnect, kTcp, "127.0.0.1", 6999, false},
    {"long_range_denies_after", kRanges, kConnect, kTcp, "127.0.0.1", 8000, false},
    {"long_range_denies_udp", kRanges, kConnect, kUdp, "127.0.0.1", 7500, false},
    {"range_to_the_end_allows_65535", kRanges, kConnect, kUdp, "127.0.0.2", 65535, true},
    {"range_to_the_end_allows_first", kRanges, kConnect, kUdp, "127.0.0.2", 65520, true},
    {"range_to_the_end_denies_before", kRanges, kConnect, kUdp, "127.0.0.2", 65519, false},
    {"all_ports_allow_1", kRanges, kConnect, kTcp, "127.0.0.3", 1, true},
    {"all_ports_allow_65535", kRanges, kConnect, kUdp, "127.0.0.3", 65535, true},
    {"all_ports_deny_0", kRanges, kConnect, kUdp, "127.0.0.3", 0, false},
    {"all_ports_deny_next_address", kRanges, kConnect, kTcp, "127.0.0.4", 80, false},

    {"network_allows_first_address", kNets, kConnect, kTcp, "127.8.0.0", 4000, true},
    {"network_allows_last_address", kNets, kConnect, kTcp, "127.15.255.255", 4000, true},
    {"network_denies_address_before", kNets, kConnect, kTcp, "127.7.255.255", 4000, false},
    {"network_denies_address_after", kNets, kConnect, kTcp, "127.16.0.0", 4000, false},
    {"inner_network_keeps_outer_rule", kNets, kConnect, kTcp, "127.8.8.8", 4000, true},
    {"inner_network_allows_its_range", kNets, kConnect, kTcp, "127.8.8.200", 4150, true},
    {"outer_network_lacks_inner_range", kNets, kConnect, kTcp, "127.8.9.1", 4150, false},
    {"host_in_networks_has_its_own_port", kNets, kConnect, kTcp, "127.8.8.8", 4200, true},
    {"host_in_networks_has_their_range", kNets, kConnect, kTcp, "127.8.8.8", 4199, true},
    {"neighbour_lacks_the_host_port", kNets, kConnect, kTcp, "127.8.8.9", 4200, false},
    {"test_net_allows_https", kNets, kConnect, kTcp, "192.0.2.255", 443, true},
    {"test_net_denies_quic", kNets, kConnect, kUdp, "192.0.2.1", 443, false},
    {"test_net_2_is_another", kNets, kConnect, kTcp, "198.51.100.1", 443, false},
    {"net6_allows_first", kNets, kConnect, kUdp, "2001:db8:1::", 443, true},
    {"net6_allows_last", kNets, kConnect, kTcp, "2001:db8:1:ffff:ffff:ffff:ffff:ffff", 443, true},
    {"net6_denies_next", kNets, kConnect, kTcp, "2001:db8:2::", 443, false},
    {"net6_denies_loopback", kNets, kConnect, kTcp, "::1", 443, false},

    {"v4_everywhere_allows_v4", kEverywhere, kConnect, kUdp, "203.0.113.9", 123, true},
    {"v4_everywhere_allows_mapped", kEverywhere, kConnect, kUdp, "::ffff:203.0.113.9", 123, true},
    {"v4_everywhere_denies_loopback6", kEverywhere, kConnect, kUdp, "::1", 123, false},
    {"v4_everywhere_denies_other_port", kEverywhere, kConnect, kUdp, "203.0.113.9", 124, false},
    {"v6_internet_allows_v6", kEverywhere, kConnect, kUdp, "2001:db8::9", 123, true},
    {"v6_internet_denies_tcp", kEverywhere, kConnect, kTcp, "2001:db8::9", 123, false},

    {"metadata_in_a_wider_network_is_denied", kBesideMetadata, kConnect, kTcp, "169.254.1.1", 80, false},
    {"neighbour_in_the_wider_network_is_allowed", kBesideMetadata, kConnect, kTcp, "169.255.1.1", 80, true},
    {"v4_compatible_spelling_is_no_metadata", kBesideMetadata, kConnect, kTcp, "::169.254.1.1", 80, true},
    {"wide_denies_metadata", kWide, kConnect, kTcp, "169.254.169.254", 80, false},
    {"wide_denies_mapped_metadata", kWide, kConnect, kTcp, "::ffff:169.254.169.254", 80, false},
    {"wide_denies_metadata_of_containers", kWide, kConnect, kTcp, "169.254.170.2", 80, false},
    {"wide_denies_last_of_link_local", kWide, kConnect, kTcp, "169.254.255.255", 80, false},
    {"wide_allows_after_link_local", kWide, kConnect, kTcp, "169.255.0.0", 80, true},
    {"wide_allows_before_link_local", kWide, kConnect, kTcp, "169.253.255.255", 80, true},
    {"wide_denies_alibaba", kWide, kConnect, kTcp, "100.100.100.200", 80, false},
    {"wide_allows_beside_alibaba", kWide, kConnect, kTcp, "100.100.100.201", 80, true},
    {"wide_denies_azure", kWide, kConnect, kTcp, "168.63.129.16", 80, false},
    {"wide_denies_oracle", kWide, kConnect, kTcp, "192.0.0.192", 80, false},
    {"wide_denies_aws6", kWide, kConnect, kTcp, "fd00:ec2::254", 80, false},
    {"wide_allows_beside_aws6", kWide, kConnect, kTcp, "fd00:ec3::254", 80, true},
    {"wide_denies_google6", kWide, kConnect, kTcp, "fd20:ce::254", 80, false},
    {"wide_denies_scaleway6", kWide, kConnect, kTcp, "fd00:42::42", 80, false},
    {"wide_denies_openstack6", kWide, kConnect, kTcp, "fe80::a9fe:a9fe", 80, false},
    {"wide_denies_nat64_metadata", kWide, kConnect, kTcp, "64:ff9b::169.254.169.254", 80, false},
    {"wide_allows_nat64", kWide, kConnect, kTcp, "64:ff9b::192.0.2.1", 80, true},
    {"allow_all_denies_metadata", kAll, kConnect, kTcp, "169.254.169.254", 80, false},
    {"allow_all_lets_metadata_be_bound", kAll, kBindOp, kTcp, "169.254.169.254", 80, true},
    {"metadata_when_said", kMetadata, kConnect, kTcp, "169.254.169.254", 80, true},
    {"metadata6_when_said", kMetadata, kConnect, kTcp, "fd00:ec2::254", 80, true},
    {"metadata_by_rule_only", kMetadata, kConnect, kTcp, "169.254.169.254", 81, false},

    {"bind_allows_range", kBind, kBindOp, kTcp, "127.0.0.1", 8010, true},
    {"bind_denies_beyond_range", kBind, kBindOp, kTcp, "127.0.0.1", 8011, false},
    {"bind_narrows_wildcard_to_loopback", kBind, kBindOp, kTcp, "0.0.0.0", 8000, true, "127.0.0.1"},
    {"bind_narrows_wildcard6_to_loopback", kBind, kBindOp, kTcp, "::", 8000, true, "::ffff:127.0.0.1"},
    {"bind_narrows_mapped_wildcard_to_loopback", kBind, kBindOp, kTcp, "::ffff:0.0.0.0", 8000, true, "::ffff:127.0.0.1"},
    {"bind_narrows_to_no_other_port", kBind, kBindOp, kTcp, "0.0.0.0", 8011, false},
    {"bind_narrows_to_no_other_protocol", kBind, kBindOp, kUdp, "0.0.0.0", 8000, false},
    {"bind_narrows_to_no_other_loopback", kBind, kBindOp, kTcp, "0.0.0.0", 20000, false},
    {"bind_narrows_to_no_port_zero_elsewhere", kBind, kBindOp, kTcp, "0.0.0.0", 0, false},
    {"bind_narrows_wildcard6_to_loopback6", kLoopback6, kBindOp, kTcp, "::", 8081, true, "::1"},
    {"bind_narrows_no_wildcard4_to_loopback6", kLoopback6, kBindOp, kTcp, "0.0.0.0", 8081, false},
    {"bind_narrows_no_mapped_wildcard_to_loopback6", kLoopback6, kBindOp, kTcp, "::ffff:0.0.0.0", 8081, false},
    {"bind_narrows_to_127_0_0_1_first", kServers, kBindOp, kTcp, "::", 3000, true, "::ffff:127.0.0.1"},
    {"bind_narrows_port_zero", kServers, kBindOp, kTcp, "0.0.0.0", 0, true, "127.0.0.1"},
    {"bind_narrows_by_connect_rules_never", kProxy, kBindOp, kTcp, "0.0.0.0", 18443, false},
    {"bind_narrows_nothing_in_audit", kAuditServers, kBindOp, kTcp, "0.0.0.0", 3000, false},
    {"bind_wildcard_allows_wildcard", kBind, kBindOp, kUdp, "0.0.0.0", 9000, true},
    {"bind_wildcard_is_no_network", kBind, kBindOp, kUdp, "127.0.0.1", 9000, false},
    {"bind_port_zero_lets_the_kernel_pick", kBind, kBindOp, kTcp, "::", 0, true},
    {"bind_port_zero_is_no_wildcard", kBind, kBindOp, kTcp, "::", 1024, false},
    {"bind_port_zero_denied_where_not_named", kBind, kBindOp, kTcp, "127.0.0.1", 0, false},
    {"bind_network_allows_port_zero", kBind, kBindOp, kUdp, "127.64.1.2", 0, true},
    {"bind_network_allows_range", kBind, kBindOp, kUdp, "127.64.1.2", 25000, true},
    {"bind_network_denies_outside", kBind, kBindOp, kUdp, "127.65.0.0", 25000, false},
    {"bind_rules_do_not_connect", kBind, kConnect, kTcp, "127.0.0.1", 8000, false},

    {"audit_would_allow", kAudit, kConnect, kTcp, "127.0.0.1", 80, true},
    {"audit_would_deny", kAudit, kConnect, kTcp, "127.0.0.1", 81, false},
};
// clang-format on

}  // namespace sbpf::decide_table
