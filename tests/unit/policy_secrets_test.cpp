// SPDX-License-Identifier: Apache-2.0
// process.secrets: what is read, what `extends` makes of it, and the filesystem rule that goes with it.
#include <gtest/gtest.h>

#include "policy/filesystem.h"
#include "policy/policy.h"

namespace sbpf::policy {
namespace {

Policy read(const std::string& body, const ProfileSource& profiles = nullptr) {
  const auto policy = parse("version: 1\nname: n\n" + body, "p.yaml", profiles);
  EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
  return policy.value_or(Policy{});
}

const FsRule* rule(const Policy& policy) {
  for (const FsRule& r : policy.filesystem.rules)
    if (r.path == kSecretsDirectory) return &r;
  return nullptr;
}

TEST(PolicySecrets, sources_and_forms) {
  const Policy p = read(
      "process:\n  secrets:\n    - {name: C, stdin: true, as: fd}\n    - {name: A, file: /etc/a b}\n"
      "    - {name: B, credential: b.key, as: file}\n");
  ASSERT_EQ(p.secrets.size(), 3u);
  EXPECT_EQ(p.secrets[0].name, "A");
  EXPECT_EQ(p.secrets[0].source, Secret::Source::file);
  EXPECT_EQ(p.secrets[0].from, "/etc/a b");
  EXPECT_EQ(p.secrets[0].form, Secret::Form::file);
  EXPECT_EQ(p.secrets[0].where.line, 6);
  EXPECT_EQ(p.secrets[1].source, Secret::Source::credential);
  EXPECT_EQ(p.secrets[1].from, "b.key");
  EXPECT_EQ(p.secrets[2].source, Secret::Source::standard_input);
  EXPECT_EQ(p.secrets[2].form, Secret::Form::fd);
}

TEST(PolicySecrets, canonical_text) {
  const Policy p = read(
      "process: {secrets: [{name: no, file: \"/a, b\"}, {name: B, stdin: true, as: fd}, {name: C, credential: 1.k}]}");
  EXPECT_NE(canonical(p).find(
                "  secrets:\n    - {name: B, stdin: true, as: fd}\n    - {name: C, credential: \"1.k\", as: file}\n"
                "    - {name: \"no\", file: \"/a, b\", as: file}\n"),
            std::string::npos)
      << canonical(p);
  EXPECT_EQ(canonical(parse(canonical(p), "c", nullptr).value()), canonical(p));
  EXPECT_EQ(canonical(read("process: {secrets: []}")), canonical(read("")));
}

TEST(PolicySecrets, a_later_secret_replaces_one_of_the_same_name) {
  const auto base = [](std::string_view) {
    return std::optional<std::string>(
        "version: 1\nname: base\nprocess: {secrets: [{name: A, file: /base}, {name: B, file: /b}]}\n");
  };
  const Policy p = read("extends: [base]\nprocess: {secrets: [{name: A, credential: own}]}\n", base);
  ASSERT_EQ(p.secrets.size(), 2u);
  EXPECT_EQ(p.secrets[0].from, "own");
  EXPECT_EQ(p.secrets[1].from, "/b");
}

TEST(PolicySecrets, the_place_of_files_is_readable_and_nothing_more) {
  const std::string files = "filesystem: {read: [/usr], deny: [/run]}\n";
  const Policy p = read(files + "process: {secrets: [{name: A, file: /a}]}");
  ASSERT_NE(rule(p), nullptr);
  EXPECT_EQ(rule(p)->access, FsAccess::read);
  EXPECT_EQ(rule(p)->where.line, 4);  // of the secret
  EXPECT_TRUE(explain_path(p, FsOperation::read, "/run/sbpf/secrets/A").allowed);
  EXPECT_FALSE(explain_path(p, FsOperation::write, "/run/sbpf/secrets/A").allowed);
  EXPECT_FALSE(explain_path(p, FsOperation::create, "/run/sbpf/secrets/B").allowed);
  EXPECT_FALSE(explain_path(p, FsOperation::read, "/run/sbpf").allowed);
  EXPECT_EQ(rule(read(files + "process: {secrets: [{name: A, file: /a, as: fd}]}")), nullptr);
  EXPECT_EQ(rule(read("process: {secrets: [{name: A, file: /a}]}")), nullptr);
  EXPECT_EQ(rule(read("filesystem: {dangerously_allow_all: true}\nprocess: {secrets: [{name: A, file: /a}]}")),
            nullptr);
  // Written out, as by the canonical text, it is the same.
  EXPECT_EQ(
      canonical(read(
          "filesystem: {read: [/usr, /run/sbpf/secrets], deny: [/run]}\nprocess: {secrets: [{name: A, file: /a}]}")),
      canonical(p));
}

}  // namespace
}  // namespace sbpf::policy
