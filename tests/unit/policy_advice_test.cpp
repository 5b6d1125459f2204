// SPDX-License-Identifier: Apache-2.0
// The change of a policy that allows what it denied: there is one for whatever may be allowed, and it is known to.
#include "policy/advice.h"

#include <gtest/gtest.h>

#include "tests/unit/images.h"

namespace sbpf::policy {
namespace {

Policy profile(const std::string& name) {
  return parse(built_in_profile(name).value(), name, built_in_profile).value();
}

NetQuery endpoint(sbpf_rule_kind kind, const char* address, std::uint16_t port) {
  NetQuery query;
  query.kind = kind;
  query.address = parse_address(address).value();
  query.port = port;
  return query;
}

TEST(Advice, every_profile_has_one_for_each_endpoint_that_it_denies) {
  int denied = 0;
  for (const std::string& name : built_in_profile_names()) {
    const Policy policy = profile(name);
    for (const NetQuery& query :
         {endpoint(SBPF_RULE_CONNECT, "192.0.2.1", 443), endpoint(SBPF_RULE_CONNECT, "2001:db8::1", 443),
          endpoint(SBPF_RULE_CONNECT, "127.0.0.1", 5432), endpoint(SBPF_RULE_CONNECT, "0.0.0.0", 5432),
          endpoint(SBPF_RULE_BIND, "0.0.0.0", 8000), endpoint(SBPF_RULE_BIND, "192.0.2.1", 8000)}) {
      const auto image = compile_rules(policy, 1, empty_view(policy));
      ASSERT_TRUE(image) << name;
      if (explain(policy, *image, query).allowed) continue;
      denied++;
      EXPECT_NE(advice(policy, query), "") << name << " " << to_string(query.address) << " " << query.port;
    }
  }
  EXPECT_GT(denied, 20);
}

TEST(Advice, every_profile_has_one_for_each_file_that_it_denies) {
  int denied = 0;
  for (const std::string& name : built_in_profile_names()) {
    const Policy policy = profile(name);
    for (const char* path :
         {"/opt/tool", "/workspace/a.out", "/workspace/.git/hooks/x", "/usr/bin/env", "/srv/a b", "/"})
      for (const FsOperation operation :
           {FsOperation::read, FsOperation::exec, FsOperation::write, FsOperation::create, FsOperation::rename}) {
        if (explain_path(policy, operation, path).allowed) continue;
        denied++;
        EXPECT_NE(advice(policy, operation, path), "") << name << " " << path;
      }
  }
  EXPECT_GT(denied, 20);
}

TEST(Advice, is_the_whole_change) {
  const Policy untrusted = profile("untrusted");
  EXPECT_EQ(advice(untrusted, FsOperation::exec, "/opt/tool"),
            "process: {exec: {allow: [/opt/tool]}}\nfilesystem: {read: [/opt/tool]}");
  EXPECT_EQ(advice(untrusted, FsOperation::exec, "/workspace/a.out"),
            "process: {exec: {allow: [/workspace/a.out], deny_writable: false}}");
  EXPECT_EQ(advice(untrusted, endpoint(SBPF_RULE_CONNECT, "192.0.2.1", 443)),
            "network: {connect: [{address: 192.0.2.1, ports: [443], protocol: tcp}]}");
}

TEST(Advice, for_a_system_call_is_the_profile_that_allows_it) {
  const Policy strict = policy_of("process: {seccomp: strict}\n");
  EXPECT_EQ(advice_for_call(strict, "io_setup"), "process: {seccomp: default}");
  for (const char* call : {"keyctl", "clone", "personality", "nothing"}) EXPECT_EQ(advice_for_call(strict, call), "");
  EXPECT_EQ(advice_for_call(policy_of(""), "io_setup"), "");
  EXPECT_EQ(advice_for_call(policy_of("process: {seccomp: dangerously_unconfined}\n"), "io_setup"), "");
}

TEST(Advice, is_none_of_what_is_allowed_and_of_what_nothing_allows) {
  const Policy untrusted = profile("untrusted");
  EXPECT_EQ(advice(untrusted, FsOperation::read, "/usr/bin/env"), "");
  EXPECT_EQ(advice(untrusted, endpoint(SBPF_RULE_CONNECT, "127.0.0.1", 443)), "") << "its own loopback";
  EXPECT_EQ(advice(untrusted, endpoint(SBPF_RULE_CONNECT, "0.83.66.80", SBPF_CANARY_PORT)), "");
  EXPECT_EQ(advice(untrusted, endpoint(SBPF_RULE_CONNECT, "192.0.2.1", 0)), "");
  EXPECT_EQ(advice(untrusted, FsOperation::read, "/srv/\xff"), "");
}

TEST(Advice, a_change_is_put_over_the_policy_or_refused) {
  const Policy untrusted = profile("untrusted");
  const auto changed = with_change(untrusted, "filesystem: {read: [/opt/tool]}");
  ASSERT_TRUE(changed);
  EXPECT_TRUE(explain_path(*changed, FsOperation::read, "/opt/tool").allowed);
  EXPECT_TRUE(explain_path(*changed, FsOperation::write, "/workspace/x").allowed) << "what it was before";
  EXPECT_TRUE(with_change(untrusted, "network: {connect: [{address: 192.0.2.1, ports: [443]}]}"));
  EXPECT_FALSE(with_change(untrusted, "network: {connect: [{address: 192.0.2.1, ports: [1-65]}]}"))
      << "so many ports are not relayed into a private loopback";
  EXPECT_FALSE(with_change(untrusted, "nonsense: 1"));
}

}  // namespace
}  // namespace sbpf::policy
