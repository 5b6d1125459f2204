// SPDX-License-Identifier: Apache-2.0
// network.loopback: what a policy may say beside it, what is relayed, and what the kernel then allows.
#include "policy/loopback.h"

#include <gtest/gtest.h>

#include "policy/image.h"
#include "tests/unit/images.h"

namespace sbpf::policy {
namespace {

std::string faults_of(const std::string& network) {
  const auto policy = parse("version: 1\nname: p\nnetwork: {loopback: private, " + network + "}\n", "p.yaml", nullptr);
  return policy ? "" : format(policy.error());
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string relayed_text(const std::string& network) {
  std::string text;
  for (const RelayedEndpoint& relayed :
       relayed_endpoints(policy_of("network: {loopback: private, " + network + "}").network))
    text += to_string(relayed.address) + (relayed.tcp ? " tcp " : " udp ") + std::to_string(relayed.port) + ", ";
  return text;
}

TEST(Loopback, is_the_hosts_unless_the_policy_says_otherwise) {
  EXPECT_EQ(policy_of("").network.loopback, Loopback::host);
  EXPECT_EQ(policy_of("network: {loopback: host}").network.loopback, Loopback::host);
  const Policy own = policy_of("network: {loopback: private}");
  EXPECT_EQ(own.network.loopback, Loopback::private_namespace);
  EXPECT_TRUE(has(canonical(own), "\n  loopback: private\n")) << canonical(own);
  EXPECT_EQ(canonical(policy_of("network: {loopback: host}")), canonical(policy_of("")));
}

TEST(Loopback, a_later_file_decides_and_none_drops_it) {
  const ProfileSource files = [](std::string_view name) {
    return std::optional("version: 1\nname: " + std::string(name) +
                         (name == "own" ? "\nnetwork: {loopback: private}\n" : "\nnetwork: none\n"));
  };
  const auto loopback_of = [&](const std::string& body) {
    return parse("version: 1\nname: p\n" + body, "p.yaml", files).value().network.loopback;
  };
  EXPECT_EQ(loopback_of("extends: [own]\n"), Loopback::private_namespace);
  EXPECT_EQ(loopback_of("extends: [none, own]\n"), Loopback::private_namespace);
  EXPECT_EQ(loopback_of("extends: [own, none]\n"), Loopback::host);
  EXPECT_EQ(loopback_of("extends: [own]\nnetwork: {loopback: host}\n"), Loopback::host);
}

TEST(Loopback, what_cannot_be_relayed_is_an_error_that_names_the_entry) {
  struct Row {
    const char *network, *part;
  };
  for (const Row& row : {
           Row{"connect: [{cidr: 127.0.0.0/8, ports: [80]}]", "it gets single addresses, 127.0.0.1 for one"},
           Row{"connect: [{cidr: 127.1.0.0/16, ports: [80]}]", "it gets single addresses, 127.0.0.1 for one"},
           Row{"connect: [{address: 0.0.0.0, ports: [80]}]", "it gets single addresses, 127.0.0.1 for one"},
           Row{"connect: [{cidr: 0.0.0.0/0, ports: [1-65535]}]", "at most 64 ports are relayed"},
           Row{"connect: [{host: a.example, ports: [1-17]}]", "at most 64 ports are relayed"},
           Row{"connect: [{host: a.example, ports: [443], protocol: tcp, via: {address: 127.0.0.1, port: 3128}}]",
               "gets the endpoint itself, and no proxy"},
           Row{"connect: [{address: 10.0.0.1, ports: [79-81]}], bind: [{address: 127.0.0.1, ports: [80]}]",
               "network.bind has port 80"},
           Row{"connect: [{host: a.example, ports: [80], protocol: tcp}], bind: [{address: \"::1\", ports: [80]}]",
               "network.bind has port 80"},
           Row{"connect: [{address: 127.0.0.1, ports: [80], protocol: tcp, via: {address: 127.0.0.1, port: 3128}}]",
               "gets the endpoint itself, and no proxy"},
           Row{"connect: [{address: 127.0.0.1, ports: [1-65], protocol: tcp}]", "at most 64 ports"},
           Row{"connect: [{address: 127.0.0.1, ports: [1-33]}]", "at most 64 ports"},
           Row{"connect: [{address: 127.0.0.1, ports: [1-65535]}]", "at most 64 ports"},
           Row{"unix: [\"@bus\"]", "cannot reach the abstract socket @bus"},
           Row{"dangerously_allow_all: true", "cannot reach everything"},
       }) {
    const std::string faults = faults_of(row.network);
    EXPECT_TRUE(has(faults, row.part)) << row.network << ": " << faults;
    EXPECT_TRUE(has(faults, "p.yaml:3:")) << faults;
    EXPECT_TRUE(has(faults, "network: {loopback: host}")) << faults;
  }
  EXPECT_EQ(faults_of("unix: [/run/bus]"), "");
  EXPECT_EQ(faults_of("connect: [{address: 127.0.0.1, ports: [1-64], protocol: tcp}]"), "");
  EXPECT_EQ(faults_of("connect: [{address: 127.0.0.1, ports: [1-64], protocol: tcp}, {address: 127.0.0.1, ports: [9], "
                      "protocol: tcp}]"),
            "")
      << "the same endpoint twice is one";
}

TEST(Loopback, relays_what_connect_lists_and_bind_does_not) {
  EXPECT_EQ(relayed_text(""), "");
  EXPECT_EQ(relayed_text("connect: [{address: 127.0.0.1, ports: [7, 9-10], protocol: tcp}]"),
            "127.0.0.1 tcp 7, 127.0.0.1 tcp 9, 127.0.0.1 tcp 10, ");
  EXPECT_EQ(
      relayed_text("connect: [{address: 127.0.0.53, ports: [53]}, {address: \"::1\", ports: [53], protocol: udp}]"),
      "::1 udp 53, 127.0.0.53 udp 53, 127.0.0.53 tcp 53, ");
  const std::string connect = "connect: [{address: 127.0.0.1, ports: [8000-8001]}], ";
  EXPECT_EQ(relayed_text(connect + "bind: [{address: 127.0.0.1, ports: [8000], protocol: tcp}]"),
            "127.0.0.1 udp 8000, 127.0.0.1 udp 8001, 127.0.0.1 tcp 8001, ");
  EXPECT_EQ(relayed_text(connect + "bind: [{address: 127.0.0.1, ports: [0, 8000-8010]}]"), "");
  EXPECT_EQ(
      relayed_text("connect: [{address: 127.0.0.1, ports: [1-65535]}], bind: [{address: 127.0.0.1, ports: [1-65535]}]"),
      "");
  // By a network, or by the wildcard; another address, port or protocol is not the same server.
  const std::string nine = "connect: [{address: 127.0.0.1, ports: [9], protocol: tcp}], bind: [";
  for (const char* bind : {"{address: 0.0.0.0, ports: [9]}", "{address: \"::\", ports: [9]}",
                           "{cidr: 127.0.0.0/8, ports: [9]}", "{cidr: 0.0.0.0/0, ports: [9], protocol: tcp}"})
    EXPECT_EQ(relayed_text(nine + bind + "]"), "") << bind;
  for (const char* bind : {"{address: 127.0.0.2, ports: [9]}", "{address: 127.0.0.1, ports: [8]}",
                           "{address: 127.0.0.1, ports: [9], protocol: udp}", "{cidr: 128.0.0.0/8, ports: [9]}"})
    EXPECT_EQ(relayed_text(nine + bind + "]"), "127.0.0.1 tcp 9, ") << bind;
}

TEST(Loopback, relays_ports_beyond_it_for_all_addresses) {
  EXPECT_EQ(relayed_text("connect: [{address: 10.0.0.1, ports: [80, 443], protocol: tcp}]"),
            "0.0.0.0 tcp 80, 0.0.0.0 tcp 443, ");
  EXPECT_EQ(relayed_text("connect: [{cidr: 10.0.0.0/8, ports: [53]}, {address: 10.0.0.1, ports: [53]}]"),
            "0.0.0.0 udp 53, 0.0.0.0 tcp 53, ");
  EXPECT_EQ(relayed_text("connect: [{address: \"2001:db8::1\", ports: [53], protocol: udp}]"), ":: udp 53, ");
  EXPECT_EQ(relayed_text("connect: [{cidr: \"2000::/3\", ports: [443], protocol: tcp}]"), ":: tcp 443, ");
  EXPECT_EQ(relayed_text("connect: [{cidr: 0.0.0.0/0, ports: [443], protocol: tcp}]"), "0.0.0.0 tcp 443, ");
  EXPECT_EQ(relayed_text("connect: [{host: a.example, ports: [443], protocol: tcp}]"), ":: tcp 443, 0.0.0.0 tcp 443, ");
  EXPECT_EQ(relayed_text("connect: [{host: a.example, ports: [443], protocol: tcp}, {address: 127.0.0.1, ports: [443], "
                         "protocol: tcp}]"),
            ":: tcp 443, 0.0.0.0 tcp 443, 127.0.0.1 tcp 443, ");
  for (const char* one : {"0.0.0.0", "::", "10.0.0.1", "127.0.0.1", "::1"})
    EXPECT_EQ(is_beyond_loopback({parse_address(one).value(), 1, true}),
              std::string_view(one).find_first_not_of("0.:") == std::string_view::npos)
        << one;
}

TEST(Loopback, lists_of_relayed_endpoints_are_told_apart) {
  const auto id_of = [](const std::string& network) {
    return relayed_id(policy_of("network: {" + network + "}").network);
  };
  const std::string base = "loopback: private, connect: [{address: 127.0.0.1, ports: [9], protocol: tcp}]";
  EXPECT_NE(id_of(base), 0u);
  EXPECT_EQ(id_of(base), id_of(base + ", bind: [{address: 127.0.0.1, ports: [0]}]"));
  EXPECT_EQ(id_of("loopback: private"), 0u);
  EXPECT_EQ(id_of("connect: [{address: 127.0.0.1, ports: [9], protocol: tcp}]"), 0u);
  EXPECT_EQ(id_of(base + ", bind: [{address: 127.0.0.1, ports: [9]}]"), 0u);
  for (const char* other :
       {"{address: 127.0.0.2, ports: [9], protocol: tcp}", "{address: 127.0.0.1, ports: [9], protocol: udp}",
        "{address: 127.0.0.1, ports: [9]}", "{address: 127.0.0.1, ports: [265], protocol: tcp}",
        "{address: \"::1\", ports: [9], protocol: tcp}"})
    EXPECT_NE(id_of(std::string("loopback: private, connect: [") + other + "]"), id_of(base)) << other;
}

// Each address and operation, by a socket of the sandbox's network namespace and by one of another's.
TEST(Loopback, is_open_in_its_own_network_namespace_alone) {
  const Image own = compile(policy_of("network: {loopback: private}"), 1).value();
  const Image host = compile(policy_of(""), 1).value();
  const auto allowed = [](const Image& image, const char* address, sbpf_rule_kind kind, sbpf_proto proto, bool inside,
                          std::uint32_t* rule = nullptr) {
    return allows(image, {kind, proto, parse_address(address).value(), 4242, inside}, rule);
  };
  for (const auto kind : {SBPF_RULE_CONNECT, SBPF_RULE_BIND})
    for (const auto proto : {SBPF_PROTO_TCP, SBPF_PROTO_UDP}) {
      for (const char* address :
           {"127.0.0.1", "127.255.255.254", "::1", "0.0.0.0", "::", "::ffff:0.0.0.0", "::ffff:127.0.0.9"}) {
        std::uint32_t rule = kNoRule;
        EXPECT_TRUE(allowed(own, address, kind, proto, true, &rule)) << address;
        EXPECT_EQ(rule, kOwnLoopback);
        EXPECT_FALSE(allowed(own, address, kind, proto, false)) << address;
        EXPECT_FALSE(allowed(host, address, kind, proto, true)) << address;
      }
      for (const char* address : {"126.255.255.255", "128.0.0.0", "1.0.0.127", "::2", "::7f00:1", "::1:0:0:1",
                                  "::fffe:127.0.0.1", "64:ff9b::127.0.0.1", "fe80::1", "100::1"})
        EXPECT_FALSE(allowed(own, address, kind, proto, true)) << address;
    }
}

TEST(Loopback, is_no_way_around_what_every_policy_denies) {
  const Image own = compile(policy_of("network: {loopback: private}"), 1).value();
  EXPECT_FALSE(
      allows(own, {SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("0.83.66.80").value(), SBPF_CANARY_PORT, true}));
  EXPECT_FALSE(allows(own, {SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("169.254.169.254").value(), 80, true}));
}

TEST(Loopback, is_explained) {
  const Policy own =
      policy_of("network: {loopback: private, connect: [{address: 127.0.0.1, ports: [7001], protocol: tcp}]}");
  const Image image = compile(own, 1).value();
  const auto explained = [&](const char* address, std::uint16_t port) {
    return explain(own, image, {SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address(address).value(), port});
  };
  EXPECT_EQ(explained("127.0.0.1", 7001).rule, "{address: 127.0.0.1, ports: [7001], protocol: tcp}");
  EXPECT_EQ(explained("127.0.0.1", 7002).rule, "loopback: private");
  EXPECT_FALSE(explained("10.0.0.1", 7001).allowed);
  const std::string advice = explained("10.0.0.1", 7001).suggestion;
  EXPECT_EQ(explain_host(own, "a.example", SBPF_PROTO_TCP, 443).suggestion,
            "network: {connect: [{host: \"a.example\", ports: [443], protocol: tcp}]}");
  EXPECT_EQ(advice, "network: {connect: [{address: 10.0.0.1, ports: [7001], protocol: tcp}]}");
  EXPECT_TRUE(explain(policy_of(advice), compile(policy_of(advice), 1).value(),
                      {SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("10.0.0.1").value(), 7001})
                  .allowed);
}

}  // namespace
}  // namespace sbpf::policy
