// SPDX-License-Identifier: Apache-2.0
// What explain() says of endpoints: the rule that decided, where it is written, where it leads, and what would allow
// it.
#include <gtest/gtest.h>

#include "policy/image.h"
#include "tests/unit/images.h"

namespace sbpf::policy {
namespace {

// The kernel connects it there, and what is sent to a proxy does not go past that by another spelling.
TEST(Explain, a_wildcard_goes_by_the_rule_for_loopback) {
  struct Row {
    const char *network, *loopback, *wildcard, *sent_to;
  };
  for (const Row& row : {Row{"cidr: 0.0.0.0/0", "cidr: 127.0.0.0/8, ports: [80]", "0.0.0.0", "127.0.0.1"},
                         Row{"cidr: 0.0.0.0/1", "address: 127.0.0.1, ports: [80]", "0.0.0.0", "127.0.0.1"},
                         Row{"cidr: 0.0.0.0/0", "address: 127.0.0.1, ports: [70-90]", "::ffff:0.0.0.0", "127.0.0.1"},
                         Row{"cidr: \"::/112\"", "address: \"::1\", ports: [80]", "::", "::1"}}) {
    const std::string proxied =
        std::string("{") + row.loopback + ", protocol: tcp, via: {address: 127.0.0.1, port: 3128}}";
    const std::string network = std::string("{") + row.network + ", ports: [80], protocol: tcp}";
    const std::string itself = std::string("{address: \"") + row.wildcard + "\", ports: [80], protocol: tcp}";
    const NetQuery query{SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address(row.wildcard).value(), 80};
    const auto decided = [&](const std::string& rules, std::optional<Via>& via) {
      const Policy policy = policy_of("network: {connect: [" + rules + "]}");
      const Image image = compile(policy, 1).value();
      std::uint32_t rule = kNoRule;
      Address judged = query.address;
      EXPECT_TRUE(allows(image, query, &rule, &judged)) << rules;
      via = via_of(image, rule);
      EXPECT_EQ(explain(policy, image, query).rule.find("via") != std::string::npos, via.has_value()) << rules;
      return judged;
    };
    std::optional<Via> via;
    EXPECT_EQ(decided(network + ", " + proxied, via), parse_address(row.sent_to)) << row.loopback;
    EXPECT_TRUE(via && via->port == 3128) << row.loopback;
    EXPECT_EQ(decided(network, via), parse_address(row.sent_to));
    EXPECT_FALSE(via);
    EXPECT_EQ(decided(network + ", " + proxied + ", " + itself, via), query.address);
    EXPECT_FALSE(via);
  }
}

TEST(Explain, names_the_rule_and_its_place) {
  const Policy policy = policy_of("network:\n  connect:\n    - {cidr: 10.0.0.0/8, ports: [5432]}\n");
  const auto image = compile(policy, 1).value();
  NetQuery query{SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("10.1.2.3").value(), 5432};
  const Explanation yes = explain(policy, image, query);
  EXPECT_TRUE(yes.allowed);
  EXPECT_EQ(yes.rule, "{cidr: 10.0.0.0/8, ports: [5432], protocol: any}");
  ASSERT_TRUE(yes.where);
  EXPECT_EQ(yes.where->file, "image.yaml");
  EXPECT_EQ(yes.where->line, 5);
  EXPECT_EQ(yes.where->column, 7);
  std::uint32_t rule = SBPF_MAX_RULES;
  EXPECT_TRUE(allows(image, query, &rule));
  EXPECT_EQ(rule_text(policy, rule), "network.connect: {cidr: 10.0.0.0/8, ports: [5432], protocol: any}");

  query.port = 5433;
  const Explanation no = explain(policy, image, query);
  EXPECT_FALSE(no.allowed);
  EXPECT_EQ(no.suggestion, "network: {connect: [{address: 10.1.2.3, ports: [5433], protocol: tcp}]}");
  query.address = parse_address("2001:db8::1").value();
  query.kind = SBPF_RULE_BIND;
  query.proto = SBPF_PROTO_UDP;
  EXPECT_EQ(suggestion(query), "network: {bind: [{address: \"2001:db8::1\", ports: [5433], protocol: udp}]}");
  EXPECT_EQ(rule_text(policy, 1), "");
}

}  // namespace
}  // namespace sbpf::policy
