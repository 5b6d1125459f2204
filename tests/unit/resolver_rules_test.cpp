// SPDX-License-Identifier: Apache-2.0
// What a resolver answers by, in the map that it reads: the same as the policy says, one set or the other, and none
// where it is not whole.
#include "agent/dns/resolver_rules.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/fake_kernel.h"
#include "tests/unit/images.h"

namespace sbpf::agent {
namespace {

using policy::policy_of;

const std::string kPolicy = R"(mode: audit
network:
  dns: {resolver: 192.0.2.53}
  dangerously_allow_metadata: true
  connect:
    - {host: "**.example.org", ports: [443, 8000-8100], protocol: tcp}
    - {host: api.example.com, ports: [443], protocol: tcp,
       via: {address: 127.0.0.1, port: 8080}}
    - {cidr: 10.0.0.0/8, ports: [5432]}
    - {cidr: 169.254.169.254/32, ports: [80]}
)";

class ResolverRulesInMap : public testing::Test {
 protected:
  void put(const policy::Policy& policy, std::uint32_t number) {
    const auto done = put_resolver_rules(map_.get(), policy, number);
    ASSERT_TRUE(done) << done.error().message;
  }
  void use(std::uint32_t number) { ASSERT_TRUE(use_resolver_rules(map_.get(), number)); }
  ResolverRules read() const { return read_resolver_rules(map_.get()); }

  FakeKernel fake_;
  Fd map_ = make_resolver_rules();
};

TEST_F(ResolverRulesInMap, say_what_the_policy_says_of_the_network) {
  const policy::Policy policy = policy_of(kPolicy, "web");
  put(policy, 7);
  EXPECT_EQ(read().number, 0u) << "not in use yet";
  use(7);
  const ResolverRules rules = read();
  EXPECT_EQ(rules.number, 7u);
  EXPECT_EQ(rules.first, policy::first_of_hosts(policy));
  ASSERT_EQ(rules.upstreams.size(), 1u);
  EXPECT_EQ(rules.upstreams.front().address, *policy::parse_address("192.0.2.53"));
  EXPECT_EQ(rules.policy.mode, policy::Mode::audit);
  policy::Policy of_network;
  of_network.name = policy.name;
  of_network.mode = policy.mode;
  of_network.network = policy.network;
  EXPECT_EQ(policy::canonical(rules.policy), policy::canonical(of_network));
  // Rules are numbered by their order.
  ASSERT_EQ(rules.policy.network.hosts.size(), policy.network.hosts.size());
  for (std::size_t i = 0; i < policy.network.hosts.size(); i++)
    EXPECT_EQ(rules.policy.network.hosts[i].pattern, policy.network.hosts[i].pattern);
}

TEST_F(ResolverRulesInMap, one_set_or_the_other) {
  const std::string dns = "network:\n  dns: {resolver: 192.0.2.53}\n  connect: [{host: ";
  put(policy_of(dns + "a.example, ports: [1]}]\n"), 1);
  use(1);
  put(policy_of(dns + "b.example, ports: [2]}]\n"), 2);
  EXPECT_EQ(read().policy.network.hosts.at(0).pattern, "a.example");
  use(2);
  EXPECT_EQ(read().policy.network.hosts.at(0).pattern, "b.example");
  EXPECT_EQ(read().number, 2u);
}

TEST_F(ResolverRulesInMap, of_many_names_come_in_parts) {
  std::string text = "network:\n  dns: {resolver: 192.0.2.53}\n  connect:\n";
  for (int i = 0; i < 3000; i++) text += "    - {host: a" + std::to_string(i) + ".example, ports: [443]}\n";
  put(policy_of(text), 1);
  use(1);
  EXPECT_EQ(read().policy.network.hosts.size(), 3000u);
  // A part that is not there: then nothing is.
  const std::uint32_t part[] = {1, 2};
  ASSERT_EQ(bpf_map_delete_elem(map_.get(), part), 0);
  EXPECT_EQ(read().number, 0u);
  EXPECT_TRUE(read().policy.network.hosts.empty());
}

TEST_F(ResolverRulesInMap, what_is_no_policy_is_nothing) {
  fake_.distort_writes(true);
  put(policy_of(kPolicy), 1);
  fake_.distort_writes(false);
  use(1);
  EXPECT_EQ(read().number, 0u);
}

}  // namespace
}  // namespace sbpf::agent
