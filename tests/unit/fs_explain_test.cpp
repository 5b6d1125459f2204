// SPDX-License-Identifier: Apache-2.0
// What `sbpf explain` says of paths.
#include <gtest/gtest.h>

#include "policy/filesystem.h"

namespace sbpf::policy {
namespace {

constexpr const char* kPolicy = R"(version: 1
name: files
filesystem:
  read: [/usr]
  write: [/workspace]
  deny: [/workspace/.git/hooks]
  protect: [/workspace/tests]
)";

Policy policy_of(const std::string& text) {
  const auto policy = parse(text, "p.yaml", nullptr);
  EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
  return policy.value();
}

struct Row {
  FsOperation operation;
  const char* path;
  bool allowed;
  const char* rule;
  const char* suggestion;
};

TEST(ExplainPath, nearest_rule_decides) {
  const Policy policy = policy_of(kPolicy);
  using enum FsOperation;
  const Row rows[] = {
      {read, "/usr/lib/libc.so.6", true, "filesystem.read: /usr", ""},
      {exec, "/usr/bin/env", true, "filesystem.read: /usr", ""},
      {write, "/usr/lib/libc.so.6", false, "filesystem.read: /usr", "filesystem: {write: [/usr/lib/libc.so.6]}"},
      {read, "/usrlocal", false, "filesystem.default: deny", "filesystem: {read: [/usrlocal]}"},
      {read, "/etc/hosts", false, "filesystem.default: deny", "filesystem: {read: [/etc/hosts]}"},
      {read, "/", false, "filesystem.default: deny", "filesystem: {read: [/]}"},
      {create, "/workspace/new/file", true, "filesystem.write: /workspace", ""},
      {read, "/workspace/.git/hooks/pre-commit", false, "filesystem.deny: /workspace/.git/hooks",
       "filesystem: {read: [/workspace/.git/hooks/pre-commit]}"},
      {read, "/workspace/.git/hooks", false, "filesystem.deny: /workspace/.git/hooks",
       "filesystem: {read: [/workspace/.git/hooks]}"},
      {write, "/workspace/.git/config", true, "filesystem.write: /workspace", ""},
      {read, "/workspace/tests/a", true, "filesystem.protect: /workspace/tests", ""},
      {write, "/workspace/tests/a", false, "filesystem.protect: /workspace/tests",
       "filesystem: {write: [/workspace/tests/a]}"},
      {create, "/workspace/tests", false, "filesystem.protect: /workspace/tests",
       "filesystem: {write: [/workspace/tests]}"},
      {remove, "/workspace/tests", false, "filesystem.protect: /workspace/tests",
       "filesystem: {write: [/workspace/tests]}"},
      {rename, "/workspace/.git", false, "filesystem.deny: /workspace/.git/hooks",
       "filesystem: {write: [/workspace/.git/hooks]}"},
      {remove, "/workspace", false, "filesystem.deny: /workspace/.git/hooks",
       "filesystem: {write: [/workspace/.git/hooks, /workspace/tests]}"},
      {rename, "/workspace/src/", true, "filesystem.write: /workspace", ""},
      {write, "/workspace", true, "filesystem.write: /workspace", ""},
      {read, "/a b", false, "filesystem.default: deny", "filesystem: {read: [\"/a b\"]}"},
      {read, "/a*", false, "filesystem.default: deny", "filesystem: {read: [\"/a\\\\*\"]}"},
  };
  for (const Row& row : rows) {
    const Explanation why = explain_path(policy, row.operation, row.path);
    EXPECT_EQ(why.allowed, row.allowed) << row.path;
    EXPECT_EQ(why.rule, row.rule) << row.path;
    EXPECT_EQ(why.suggestion, row.suggestion) << row.path;
    EXPECT_EQ(why.where.has_value(), why.rule.find("default") == std::string::npos) << row.path;
  }
}

TEST(ExplainPath, names_the_place_of_the_rule) {
  const auto where = explain_path(policy_of(kPolicy), FsOperation::write, "/workspace/tests/a").where;
  ASSERT_TRUE(where);
  EXPECT_EQ(where->file, "p.yaml");
  EXPECT_EQ(where->line, 7);
  EXPECT_EQ(where->column, 13);
}

TEST(ExplainPath, files_that_are_not_judged) {
  const Explanation none = explain_path(policy_of("version: 1\nname: n\n"), FsOperation::write, "/etc/shadow");
  EXPECT_TRUE(none.allowed);
  EXPECT_EQ(none.rule, "");
  const Explanation all = explain_path(policy_of("version: 1\nname: n\nfilesystem: {dangerously_allow_all: true}\n"),
                                       FsOperation::write, "/etc/shadow");
  EXPECT_TRUE(all.allowed);
  EXPECT_EQ(all.rule, "filesystem.dangerously_allow_all");
}

TEST(ExplainPath, default_decides_where_no_rule_does) {
  const Policy policy = policy_of("version: 1\nname: n\nmode: audit\nfilesystem: {default: read}\n");
  EXPECT_TRUE(explain_path(policy, FsOperation::read, "/etc").allowed);
  const Explanation denied = explain_path(policy, FsOperation::write, "/etc");
  EXPECT_FALSE(denied.allowed);
  EXPECT_TRUE(denied.audit_only);
  EXPECT_EQ(denied.rule, "filesystem.default: read");
}

TEST(ExplainPath, rules_lie_where_the_view_has_them) {
  const Policy policy = policy_of("version: 1\nname: n\nfilesystem: {write: [/data]}\n");
  FsView view;
  view.paths["/data"] = {{{"", FsInode{}}, {"srv", std::nullopt}, {"data", std::nullopt}}};
  EXPECT_TRUE(explain_path(policy, view, FsOperation::write, "/srv/data/x").allowed);
  EXPECT_FALSE(explain_path(policy, view, FsOperation::write, "/data/x").allowed);
  EXPECT_EQ(explain_path(policy, view, FsOperation::write, "/srv/data/x").rule, "filesystem.write: /data");
}

TEST(ExplainPath, a_rule_is_replaced_by_its_own_spelling) {
  const Policy policy = policy_of("version: 1\nname: n\nfilesystem: {read: [/data]}\n");
  FsView view;
  view.paths["/data"] = {{{"", FsInode{}}, {"srv", std::nullopt}}};
  EXPECT_EQ(explain_path(policy, view, FsOperation::write, "/srv").suggestion, "filesystem: {write: [/data]}");
}

}  // namespace
}  // namespace sbpf::policy
