// SPDX-License-Identifier: Apache-2.0
// What `extends` merges, as said in policy/parse.cpp.
#include <gtest/gtest.h>

#include "policy/policy.h"
#include "policy/yaml_ready.h"

namespace sbpf::policy {
namespace {

using Files = std::map<std::string, std::string, std::less<>>;

ProfileSource from(Files files) {
  return [files = std::move(files)](std::string_view name) -> std::optional<std::string> {
    const auto found = files.find(name);
    if (found == files.end()) return std::nullopt;
    return "version: 1\nname: " + std::string(name) + "\n" + found->second;
  };
}

Policy policy_of(const std::string& body, const Files& files) {
  const auto policy = parse("version: 1\nname: own\n" + body + "\n", "own.yaml", from(files));
  EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
  return policy ? *policy : Policy{};
}

std::string network_of(const Policy& policy) {
  const std::string text = canonical(policy);
  return text.substr(text.find("network:"), text.find("process:") - text.find("network:"));
}

const Files kFiles = {
    {"a",
     "on_loss: kill\nnetwork: {connect: [{address: 10.0.0.1, ports: [1]}]}\n"
     "process: {env: {allow: [A], set: {X: a, Y: a}}, limits: {processes: 1, cpu: 1}}\n"},
    {"b",
     "mode: audit\non_loss: alert\nnetwork: {connect: [{address: 10.0.0.2, ports: [2]}], "
     "bind: [{address: 10.0.0.3, ports: [3]}], dangerously_allow_sockets: [ping]}\n"
     "process: {env: {allow: [B], set: {Y: b}}, limits: {processes: 2, memory: 1MiB}}\n"},
    {"c", "extends: [a]\nnetwork: {connect: [{address: 10.0.0.4, ports: [4]}]}\n"},
    {"files", "filesystem: {default: read, read: [/usr], write: [/w], deny: [/w/no]}\n"},
    {"more_files", "filesystem: {write: [/usr], protect: [/w/tests]}\n"},
    {"none", "network: none\n"},
    {"peers",
     "network: {unix: [/run/peer, \"@abstract\"], connect: [{host: a.example, ports: [443]}], dns: {resolver: 127.0.0.53}, "
     "dangerously_allow_metadata: true, record_flows: true, trusted_programs: [\"00000000000000a1\", \"00000000000000A2\"], "
     "interfaces: [eth0, lo]}\n"},
    {"all", "network: {dangerously_allow_all: true}\n"},
    {"loop1", "extends: [loop2]\n"},
    {"loop2", "extends: [loop1]\n"},
    {"bad", "network: {conect: []}\n"},
};

TEST(Extends, lists_are_united_and_later_values_replace) {
  const Policy p = policy_of("extends: [a, b]\nprocess: {limits: {memory: 2MiB}, env: {allow: [OWN]}}", kFiles);
  EXPECT_EQ(p.name, "own");
  EXPECT_EQ(p.mode, Mode::audit);
  EXPECT_EQ(p.on_loss, OnLoss::alert);
  EXPECT_EQ(p.network.connect.size(), 2u);
  EXPECT_EQ(p.network.bind.size(), 1u);
  EXPECT_EQ(p.network.dangerously_allow_sockets, std::vector<sbpf_socket_class>{SBPF_SOCKET_PING});
  EXPECT_EQ(p.env.allow, (std::vector<std::string>{"A", "B", "OWN"}));
  EXPECT_EQ(p.env.set, (std::map<std::string, std::string>{{"X", "a"}, {"Y", "b"}}));
  EXPECT_EQ(p.limits.processes, 2u);
  EXPECT_EQ(p.limits.memory_bytes, 2u << 20);
  EXPECT_EQ(p.limits.cpu_millis, 1000u);
}

TEST(Extends, a_path_is_asked_for_relative_to_the_file_that_names_it) {
  const Files files = {{"./lib/a.yaml", "extends: [.//b.yaml, ../c.yaml, /d.yaml]\n"},
                       {"./lib/b.yaml", "mode: audit\n"},
                       {"./lib/../c.yaml", "on_loss: kill\n"},
                       {"/d.yaml", "network: {record_flows: true}\n"},
                       {"named", "extends: [./c.yaml]\n"}};
  const ProfileSource source = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = files.find(name);
    return found == files.end() ? std::nullopt : std::optional("version: 1\nname: x\n" + found->second);
  };
  const auto policy = parse("version: 1\nname: own\nextends: [./lib/a.yaml]\n", "own.yaml", source);
  ASSERT_TRUE(policy) << format(policy.error());
  EXPECT_EQ(policy->mode, Mode::audit);
  EXPECT_EQ(policy->on_loss, OnLoss::kill);
  EXPECT_TRUE(policy->network.record_flows);
  const auto refused = parse("version: 1\nname: own\nextends: [named]\n", "own.yaml", source);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().message, "the profile \"named\" is installed, and extends a file");
}

TEST(Extends, order_decides) {
  EXPECT_EQ(policy_of("extends: [b, a]", kFiles).on_loss, OnLoss::kill);
  EXPECT_EQ(policy_of("extends: [b, a]\non_loss: freeze", kFiles).on_loss, OnLoss::freeze);
  EXPECT_EQ(policy_of("extends: [b, a]\nmode: enforce", kFiles).mode, Mode::enforce);
}

TEST(Extends, is_transitive_and_a_diamond_is_no_cycle) {
  const Policy p = policy_of("extends: [c, a]", kFiles);
  EXPECT_EQ(p.network.connect.size(), 2u);
  EXPECT_EQ(p.network.connect[0].where.file, "profile a");
}

TEST(Extends, trusted_programs_are_united) {
  const Policy p =
      policy_of("extends: [peers]\nnetwork: {trusted_programs: [\"00000000000000a2\", \"0000000000000001\"]}", kFiles);
  EXPECT_EQ(
      p.network.trusted_programs,
      (std::vector<ProgramTag>{{0, 0, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 0, 0xa1}, {0, 0, 0, 0, 0, 0, 0, 0xa2}}));
}

TEST(Extends, interfaces_are_united) {
  const Policy p = policy_of("extends: [peers]\nnetwork: {interfaces: [wg0, eth0]}", kFiles);
  EXPECT_EQ(p.network.interfaces, (std::vector<std::string>{"eth0", "lo", "wg0"}));
}

TEST(Extends, network_none_drops_what_came_before) {
  const std::string nothing = network_of(policy_of("", {}));
  EXPECT_EQ(network_of(policy_of("extends: [a, b]\nnetwork: none", kFiles)), nothing);
  EXPECT_EQ(network_of(policy_of("extends: [a, b, none]", kFiles)), nothing);
  EXPECT_EQ(network_of(policy_of("extends: [all]\nnetwork: none", kFiles)), nothing);
  const Policy peers = policy_of("extends: [peers]", kFiles);
  ASSERT_EQ(peers.network.unix_peers.size(), 2u);
  for (const char* text : {"extends: [peers]\nnetwork: none", "extends: [peers, none]"}) {
    const Policy none = policy_of(text, kFiles);
    EXPECT_TRUE(none.network.unix_peers.empty()) << text;
    EXPECT_TRUE(none.network.hosts.empty()) << text;
    EXPECT_FALSE(none.network.dangerously_allow_metadata) << text;
    EXPECT_FALSE(none.network.record_flows) << text;
    EXPECT_TRUE(none.network.trusted_programs.empty()) << text;
    EXPECT_TRUE(none.network.interfaces.empty()) << text;
    EXPECT_EQ(canonical(none), canonical(policy_of("network: none", {}))) << text;
  }
  EXPECT_EQ(network_of(policy_of("extends: [none, a]", kFiles)), network_of(policy_of("extends: [a]", kFiles)));
}

std::string files_of(const Policy& policy) {
  std::string text = std::string(to_string(policy.filesystem.fallback));
  for (const FsRule& rule : policy.filesystem.rules)
    text += " " + std::string(to_string(rule.access)) + ":" + rule.path;
  return text;
}

TEST(Extends, filesystem_rules_are_united_and_a_later_rule_replaces_that_of_its_path) {
  const Policy p = policy_of("extends: [files, more_files]\nfilesystem: {read: [/w/no]}", kFiles);
  EXPECT_EQ(files_of(p), "read write:/usr write:/w read:/w/no protect:/w/tests");
  EXPECT_EQ(p.filesystem.rules[0].where.file, "profile more_files");
  EXPECT_EQ(p.filesystem.rules[2].where.file, "own.yaml");
  EXPECT_EQ(files_of(policy_of("extends: [more_files, files]", kFiles)),
            "read read:/usr write:/w deny:/w/no protect:/w/tests");
}

TEST(Extends, filesystem_default_is_the_last_one_that_is_given) {
  EXPECT_EQ(files_of(policy_of("extends: [files]\nfilesystem: {default: write}", kFiles)).substr(0, 6), "write ");
  EXPECT_EQ(policy_of("extends: [files]\nfilesystem: {}", kFiles).filesystem.fallback, FsDefault::read);
  EXPECT_EQ(policy_of("filesystem: {}", kFiles).filesystem.fallback, FsDefault::deny);
}

TEST(Extends, filesystem_is_asked_for_by_any_of_the_files) {
  EXPECT_TRUE(policy_of("extends: [c, files]", kFiles).filesystem.requested);
  EXPECT_TRUE(policy_of("extends: [c]\nfilesystem: {}", kFiles).filesystem.requested);
  EXPECT_FALSE(policy_of("extends: [c]", kFiles).filesystem.requested);
}

TEST(Extends, a_policy_without_network_keeps_what_it_inherits) {
  EXPECT_EQ(policy_of("extends: [a]", kFiles).network.connect.size(), 1u);
  EXPECT_EQ(policy_of("extends: [a]\nnetwork: {}", kFiles).network.connect.size(), 1u);
}

std::string first_code(const std::string& body, const Files& files, std::string* where = nullptr) {
  const auto policy = parse("version: 1\nname: own\n" + body + "\n", "own.yaml", from(files));
  if (policy) return "";
  if (where) *where = format({policy.error()[0]});
  return policy.error()[0].code;
}

TEST(Extends, cycles_are_refused) {
  std::string text;
  EXPECT_EQ(first_code("extends: [loop1]", kFiles, &text), "extends_cycle");
  EXPECT_NE(text.find("loop1 -> loop2 -> loop1"), std::string::npos) << text;
  EXPECT_EQ(first_code("extends: [self]", {{"self", "extends: [self]\n"}}), "extends_cycle");
}

TEST(Extends, an_error_in_a_profile_is_told_at_its_own_place) {
  std::string text;
  EXPECT_EQ(first_code("extends: [bad]", kFiles, &text), "unknown_key");
  EXPECT_EQ(text.rfind("profile bad:3:11: network.conect:", 0), 0u) << text;
}

TEST(Extends, allow_all_contradicts_inherited_lists) {
  EXPECT_EQ(first_code("extends: [a]\nnetwork: {dangerously_allow_all: true}", kFiles), "contradiction");
  EXPECT_EQ(first_code("extends: [all, a]", kFiles), "contradiction");
  EXPECT_EQ(first_code("extends: [all, a]\nnetwork: {dangerously_allow_all: false}", kFiles), "");
  EXPECT_EQ(first_code("extends: [a, none, all]", kFiles), "");
}

TEST(Extends, a_fan_of_profiles_is_bounded) {
  Files files;
  for (int i = 0; i < 40; ++i) {
    const std::string next = std::to_string(i + 1);
    const std::string body = i == 39 ? "" : "extends: [x" + next + ", y" + next + "]\n";
    files["x" + std::to_string(i)] = files["y" + std::to_string(i)] = body;
  }
  EXPECT_EQ(first_code("extends: [x0, y0]", files), "too_many_profiles");
}

TEST(Extends, no_source_means_no_profiles) {
  EXPECT_EQ(parse("version: 1\nname: n\nextends: [a]\n", "n", nullptr).error()[0].code, "unknown_profile");
}

void expect_same(const internal::YamlNode& a, const internal::YamlNode& b) {
  EXPECT_EQ(std::tie(a.kind, a.text, a.plain, a.line, a.column), std::tie(b.kind, b.text, b.plain, b.line, b.column));
  ASSERT_EQ(a.items.size(), b.items.size());
  ASSERT_EQ(a.keys.size(), b.keys.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) expect_same(a.items[i], b.items[i]);
  for (std::size_t i = 0; i < a.keys.size(); ++i) expect_same(a.keys[i], b.keys[i]);
}

TEST(BuiltIn, the_trees_that_are_compiled_in_are_those_of_the_texts) {
  for (const std::string& name : built_in_profile_names()) {
    SCOPED_TRACE(name);
    const std::string text = built_in_profile(name).value();
    const auto ready = internal::ready_tree(text);
    const auto read = internal::load_yaml(text, name);
    ASSERT_TRUE(ready && read);
    expect_same(*ready, *read);
    EXPECT_FALSE(internal::ready_tree(text + "\n")) << "another text is no profile";
  }
}

}  // namespace
}  // namespace sbpf::policy
