// SPDX-License-Identifier: Apache-2.0
// Host names in policies: patterns, their text, where names may lead.
#include <gtest/gtest.h>

#include "policy/filesystem.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::policy {
namespace {

TEST(HostPattern, covers_names) {
  const std::tuple<const char*, const char*, bool> kCases[] = {
      {"a.example.org", "a.example.org", true},
      {"a.example.org", "A.Example.ORG.", true},
      {"a.example.org", "b.a.example.org", false},
      {"a.example.org", "example.org", false},
      {"a.example.org", "xa.example.org", false},
      {"*.example.org", "a.example.org", true},
      {"*.example.org", "A.EXAMPLE.org.", true},
      {"*.example.org", "example.org", false},
      {"*.example.org", ".example.org", false},
      {"*.example.org", "b.a.example.org", false},
      {"*.example.org", "aexample.org", false},
      {"*.example.org", "a.example.org.evil.net", false},
      {"**.example.org", "a.example.org", true},
      {"**.example.org", "c.b.a.example.org", true},
      {"**.example.org", "example.org", false},
      {"**.example.org", ".example.org", false},
      {"**.example.org", "a.notexample.org", false},
      {"localhost", "localhost", true},
      {"localhost", "", false},
  };
  for (const auto& [pattern, name, matches] : kCases)
    EXPECT_EQ(host_matches(pattern, name), matches) << pattern << " " << name;
}

Policy parsed(const std::string& network) {
  const auto policy = parse("version: 1\nname: n\nnetwork:\n" + network, "p.yaml", nullptr);
  if (!policy) throw std::runtime_error(format(policy.error()));
  return *policy;
}

TEST(HostRules, have_one_text) {
  const Policy policy = parsed(
      "  connect:\n    - {host: \"*.B.example.\", ports: [443, 80], protocol: tcp}\n    - {host: a.example, ports: [5-6, 7]}\n"
      "    - {host: \"*.b.example\", ports: [80, 443], protocol: tcp}\n    - {address: 10.0.0.1, ports: [1]}\n  dns: {resolver: \"::1\"}\n");
  EXPECT_NE(canonical(policy).find("  connect:\n    - {address: 10.0.0.1, ports: [1], protocol: any}\n"
                                   "    - {host: \"*.b.example\", ports: [80, 443], protocol: tcp}\n"
                                   "    - {host: \"a.example\", ports: [5-7], protocol: any}\n  bind: []\n"),
            std::string::npos)
      << canonical(policy);
  EXPECT_NE(canonical(policy).find("  dns: {resolver: \"::1\"}\n"), std::string::npos);
  EXPECT_EQ(canonical(parse(canonical(policy), "", nullptr).value()), canonical(policy));
}

TEST(HostRules, of_a_profile_are_kept_and_its_resolver_is_replaced) {
  const auto source = [](std::string_view) {
    return std::optional<std::string>(
        "version: 1\nname: base\nnetwork: {connect: [{host: a.example, ports: [1]}], dns: {resolver: 10.0.0.1}}\n");
  };
  const auto policy = parse(
      "version: 1\nname: n\nextends: [base]\nnetwork: {connect: [{host: b.example, ports: [2]}], dns: {resolver: 10.0.0.2}}\n",
      "p", source);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->network.hosts.size(), 2u);
  EXPECT_EQ(policy->network.resolver, parse_address("10.0.0.2"));
  const auto none = parse("version: 1\nname: n\nextends: [base]\nnetwork: none\n", "p", source);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->network.hosts.empty());
  EXPECT_FALSE(none->network.resolver);
}

TEST(HostRules, are_explained) {
  const Policy policy = parsed("  connect:\n    - {host: \"*.example.org\", ports: [443], protocol: tcp}\n");
  const Explanation yes = explain_host(policy, "a.example.org", SBPF_PROTO_TCP, 443);
  EXPECT_TRUE(yes.allowed);
  EXPECT_EQ(yes.rule, "{host: \"*.example.org\", ports: [443], protocol: tcp}");
  ASSERT_TRUE(yes.where);
  EXPECT_EQ(yes.where->line, 5);
  for (const auto& [name, proto, port] : {std::tuple{"a.example.org", SBPF_PROTO_TCP, 80},
                                          {"a.example.org", SBPF_PROTO_UDP, 443},
                                          {"example.org", SBPF_PROTO_TCP, 443}}) {
    const Explanation no = explain_host(policy, name, proto, static_cast<std::uint16_t>(port));
    EXPECT_FALSE(no.allowed);
    EXPECT_TRUE(no.rule.empty());
    const auto more = parse("version: 1\nname: n\n" + no.suggestion + "\n", "s", nullptr);
    ASSERT_TRUE(more) << no.suggestion;
    EXPECT_TRUE(explain_host(*more, name, proto, static_cast<std::uint16_t>(port)).allowed);
  }
}

TEST(Names, lead_to_public_addresses_only) {
  for (const char* address :
       {"1.1.1.1", "93.184.216.34", "11.0.0.1", "172.32.0.1", "192.0.1.1", "100.128.0.1", "198.20.0.1",
        "223.255.255.255", "2606:4700::1111", "2001:200::1", "2a00:1450::1", "64:ff9b::101:101", "::ffff:1.1.1.1"})
    EXPECT_TRUE(is_public(*parse_address(address))) << address;
  for (const char* address : {"0.0.0.0",
                              "0.1.2.3",
                              "10.0.0.1",
                              "100.64.0.1",
                              "100.100.100.200",
                              "127.0.0.1",
                              "127.255.255.255",
                              "169.254.169.254",
                              "168.63.129.16",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.192",
                              "192.0.2.1",
                              "192.168.1.1",
                              "198.18.0.1",
                              "198.19.255.255",
                              "198.51.100.1",
                              "203.0.113.1",
                              "224.0.0.1",
                              "239.1.1.1",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.1.2.3",
                              "::7f00:1",
                              "64:ff9b::a00:1",
                              "64:ff9b::7f00:1",
                              "64:ff9b:1::1",
                              "100::1",
                              "2001::1",
                              "2001:20::1",
                              "2001:1ff::1",
                              "2001:db8::1",
                              "2002:a00:1::",
                              "fc00::1",
                              "fd00:ec2::254",
                              "fe80::1",
                              "fec0::1",
                              "ff02::1",
                              "3fff::1",
                              "5f00::1",
                              "4000::1"})
    EXPECT_FALSE(is_public(*parse_address(address))) << address;
}

TEST(Names, lead_to_listed_networks_too) {
  Network network;
  EXPECT_FALSE(may_lead_to(network, *parse_address("10.1.2.3")));
  Endpoint entry;
  entry.address = *parse_address("10.1.0.0");
  entry.prefix = 96 + 15;
  network.connect.push_back(entry);
  for (const char* address : {"10.0.0.1", "10.1.255.255"})
    EXPECT_TRUE(may_lead_to(network, *parse_address(address))) << address;
  for (const char* address : {"10.2.0.0", "192.168.1.1", "::1"})
    EXPECT_FALSE(may_lead_to(network, *parse_address(address))) << address;
}

// It is open as far as `connect` lists it, and no further.
TEST(Names, open_nothing_at_an_address_that_is_not_public) {
  for (const Protocol protocol : {Protocol::any, Protocol::tcp, Protocol::udp})
    for (const std::optional<Via>& via :
         {std::optional<Via>{}, std::optional<Via>{Via{*parse_address("127.0.0.1"), 3128}}}) {
      const HostRule host{"a.example", {{22, 22}, {8000, 8999}}, protocol, {}, via};
      for (const char* address :
           {"127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0", "::1", "fd00::1", "fe80::1", "64:ff9b::7f00:1"})
        EXPECT_TRUE(opened_entries(host, 2, *parse_address(address)).value().empty()) << address;
      for (const char* address : {"1.1.1.1", "2606:4700::1"})
        EXPECT_EQ(opened_entries(host, 2, *parse_address(address)).value().size(), protocol == Protocol::any ? 4u : 2u)
            << address;
    }
}

// What was opened under other names counts no more: by the number of all that decides what they open.
TEST(Names, have_another_number_where_they_open_anything_else) {
  const auto number = [](const std::string& network, const std::string& more = "") {
    const auto policy = parse("version: 1\nname: x\n" + more + "network: {" + network + "}\n", "p.yaml", nullptr);
    EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
    return compile(*policy, 1, empty_view(*policy)).value().header().host_names_id;
  };
  const std::string host = "connect: [{host: a.example, ports: [443], protocol: tcp}]";
  const std::uint32_t first = number(host);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(number(host), first);
  EXPECT_EQ(number("connect: [{address: 1.1.1.1, ports: [443]}]"), 0u);
  EXPECT_NE(number("connect: [{host: b.example, ports: [443], protocol: tcp}]"), first);
  EXPECT_NE(number("connect: [{host: a.example, ports: [444], protocol: tcp}]"), first);
  EXPECT_NE(number("connect: [{host: a.example, ports: [443], protocol: udp}]"), first);
  EXPECT_NE(number("connect: [{host: a.example, ports: [443], protocol: tcp}, {cidr: 10.0.0.0/8, ports: [1]}]"), first);
  EXPECT_NE(number(host + ", dns: {resolver: 1.1.1.1}"), first);
  EXPECT_NE(number(host, "mode: audit\n"), first);
}

TEST(MayLeadTo, public_addresses_and_those_that_connect_lists) {
  Network network;
  const auto leads = [&network](const char* address) { return may_lead_to(network, *parse_address(address)); };
  EXPECT_TRUE(leads("93.184.216.34"));
  EXPECT_TRUE(leads("2606:2800:220:1:248:1893:25c8:1946"));
  for (const char* inside : {"10.0.0.5", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "fe80::1"})
    EXPECT_FALSE(leads(inside)) << inside;
  network.connect.push_back({*parse_address("10.0.0.0"), 96 + 9, {{443, 443}}, Protocol::tcp, {}});
  network.connect.push_back({*parse_address("fd00::1"), 128, {{443, 443}}, Protocol::tcp, {}});
  EXPECT_TRUE(leads("10.0.0.5"));
  EXPECT_TRUE(leads("10.127.255.255"));
  EXPECT_FALSE(leads("10.128.0.0")) << "the first address beyond a prefix that ends within a byte";
  EXPECT_FALSE(leads("172.16.0.1"));
  EXPECT_TRUE(leads("fd00::1"));
  EXPECT_FALSE(leads("fd00::2"));
  EXPECT_FALSE(leads("192.168.0.1"));
}

}  // namespace
}  // namespace sbpf::policy
