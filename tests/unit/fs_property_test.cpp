// SPDX-License-Identifier: Apache-2.0
// Over random files and rules: what the compiled image says, looked up as the kernel does, is what the policy says of
// the path (tests/decide/fs_model.h), and so is what explain_path() says.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "policy/filesystem.h"
#include "tests/decide/fs_model.h"
#include "tests/unit/fs_host.h"

namespace sbpf::policy {
namespace {

using fs_host::Host;

std::optional<sbpf_fs_node> look_up(const Image& image, const sbpf_rule_key& key) {
  const auto found = image.entries.find(key);
  if (found == image.entries.end()) return std::nullopt;
  sbpf_fs_node node;
  std::memcpy(&node, &found->second, sizeof node);
  return node;
}

// As bpf/abi.h says: up to the first inode that is a node, no further than the root of the filesystem; down again by
// names, a few. A name that does not exist has no inode, and is judged from its directory on.
fs_model::Verdict walk(const Image& image, const Host& host, const std::string& path) {
  const FsPath way = host.path(path);
  std::string at = path;
  std::size_t depth = way.size() - 1;
  std::optional<sbpf_fs_node> node;
  for (;; --depth, at = fs_model::parent(at)) {
    if (way[depth].inode) node = look_up(image, fs_inode_key(*way[depth].inode));
    if (node) break;
    if (host.mounts.contains(at)) return {};  // the filesystem ends here without a node
  }
  for (int i = 0; depth + 1 < way.size() && node->flags & SBPF_FS_NAMED; ++i) {
    if (i == SBPF_FS_NAME_DEPTH) return {};
    const auto child = find_named(image.entries, fs_name_key(node->node, way[depth + 1].name), way[depth + 1].name);
    if (!child) break;
    node = child;
    ++depth;
  }
  fs_model::Verdict verdict;
  verdict.read = (node->rights & SBPF_FS_READ) != 0;
  verdict.write = (node->rights & SBPF_FS_WRITE) != 0;
  verdict.exec = (node->rights & SBPF_FS_EXEC) != 0 || (image.header().flags & SBPF_POLICY_EXEC) == 0;
  const bool held = depth + 1 == way.size() && (node->flags & SBPF_FS_HOLDS) != 0;
  verdict.movable = verdict.write && !held;
  return verdict;
}

// Few names, so that rules, files and questions meet. One is as long as a piece of the hash, one longer.
std::string any_path(int deepest) {
  std::string path;
  for (int depth = *rc::gen::inRange(0, deepest + 1); depth > 0; --depth)
    path += "/" + *rc::gen::element<std::string>("a", "a", "b", "b", "c", std::string(32, 'l'), std::string(33, 'l'));
  return path.empty() ? "/" : path;
}

Host any_host() {
  Host host;
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    const std::string path = any_path(6);
    host.make(path);
    if (*rc::gen::inRange(0, 4) == 0) host.mounts.insert(path);
  }
  return host;
}

void add_exec(Policy& policy) {
  policy.exec.allow_listed = *rc::gen::arbitrary<bool>();
  policy.exec.deny_writable = *rc::gen::inRange(0, 3) == 0;
  std::map<std::string, bool> rules;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i)
    rules[any_path(*rc::gen::element(2, 3, 6, 11))] = *rc::gen::arbitrary<bool>();
  for (const auto& [path, allow] : rules) {
    policy.exec.rules.push_back(ExecRule{path, allow, {}});
    policy.exec.allow_listed = policy.exec.allow_listed || allow;
  }
}

Policy any_policy() {
  Policy policy;
  policy.name = "any";
  policy.filesystem.requested = true;
  policy.filesystem.fallback = *rc::gen::element(FsDefault::deny, FsDefault::read, FsDefault::write);
  std::map<std::string, FsAccess> rules;
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i)
    rules[any_path(*rc::gen::element(2, 3, 6, 11))] =
        *rc::gen::element(FsAccess::read, FsAccess::write, FsAccess::write, FsAccess::deny, FsAccess::protect);
  for (const auto& [path, access] : rules) policy.filesystem.rules.push_back(FsRule{path, access, {}});
  if (*rc::gen::inRange(0, 3) > 0) add_exec(policy);
  return policy;
}

// Near a rule more often than anywhere.
std::string any_question(const Policy& policy) {
  const auto rules = rule_paths(policy);
  if (rules.empty() || *rc::gen::inRange(0, 3) == 0) return any_path(12);
  std::string path = rules[*rc::gen::inRange<std::size_t>(0, rules.size())].path;
  for (int up = *rc::gen::inRange(0, 3); up > 0; --up) path = fs_model::parent(path);
  const std::string tail = any_path(*rc::gen::inRange(0, 3));
  return tail == "/" ? path : path == "/" ? tail : path + tail;
}

std::size_t missing_names(const Host& host, const std::string& path) {
  const FsPath way = host.path(path);
  return static_cast<std::size_t>(
      std::count_if(way.begin(), way.end(), [](const FsComponent& component) { return !component.inode; }));
}

// Has every rule's path few enough names that were not there when the policy was compiled, or have been replaced since?
bool within_reach(const Policy& policy, const Host& known) {
  const auto rules = rule_paths(policy);
  return std::all_of(rules.begin(), rules.end(),
                     [&](const RulePath& rule) { return missing_names(known, rule.path) <= SBPF_FS_NAME_DEPTH; });
}

// Files come, and directories are replaced by others of the same name: none of this may change a verdict.
void change(Host& host, Host& known) {
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) host.make(any_path(6));
  if (*rc::gen::inRange(0, 3) > 0) return;
  const std::string replaced = any_path(4);
  for (const std::string& mount : host.mounts)
    if (mount == replaced || fs_model::below(mount, replaced)) return;  // busy
  for (auto& [path, inode] : host.inodes) {
    if (path != replaced && !fs_model::below(path, replaced)) continue;
    ++inode.generation;
    known.inodes.erase(path);
  }
}

std::string shown(const Policy& policy, const std::string& path) { return canonical(policy) + "asked: " + path; }

TEST(FilesystemProperties, image_says_what_the_policy_says_of_a_path) {
  constexpr int kHostsEach = 8, kQuestionsEach = 30;
  int asked = 0, writable = 0, held = 0, too_deep = 0, executable = 0;
  EXPECT_TRUE(rc::check("up by inodes and down by names is the nearest rule", [&] {
    for (int n = 0; n < kHostsEach; ++n) {
      const Policy policy = any_policy();
      Host host = any_host(), known = host;
      const auto image = compile(policy, 1, host.view(policy));
      if (!image) {
        RC_ASSERT(image.error().code.text() == "fs_too_deep");
        RC_ASSERT(!within_reach(policy, host));
        ++too_deep;
        continue;
      }
      RC_ASSERT(within_reach(policy, host));
      change(host, known);
      if (!within_reach(policy, known)) continue;
      for (int i = 0; i < kQuestionsEach; ++i) {
        const std::string path = any_question(policy);
        const fs_model::Verdict expected = fs_model::judge(policy, path);
        const fs_model::Verdict found = walk(*image, host, path);
        if (found.read != expected.read || found.write != expected.write || found.movable != expected.movable ||
            found.exec != expected.exec)
          RC_FAIL(shown(policy, path));
        ++asked;
        writable += expected.write ? 1 : 0;
        executable += expected.exec ? 1 : 0;
        held += expected.write && !expected.movable ? 1 : 0;
      }
    }
  }));
  EXPECT_GT(asked, 10'000);
  EXPECT_GT(writable, asked / 10) << "the generator must hit";
  EXPECT_LT(writable, asked * 9 / 10) << "the generator must miss";
  EXPECT_GT(executable, asked / 10);
  EXPECT_LT(executable, asked * 9 / 10);
  EXPECT_GT(held, asked / 100);
  EXPECT_GT(too_deep, 5);
}

TEST(FilesystemProperties, explanation_says_what_the_policy_says_of_a_path) {
  EXPECT_TRUE(rc::check("explain_path agrees with the model, and its suggestion helps", [] {
    const Policy policy = any_policy();
    for (int i = 0; i < 10; ++i) {
      const std::string path = any_question(policy);
      const fs_model::Verdict expected = fs_model::judge(policy, path);
      const std::pair<FsOperation, bool> operations[] = {
          {FsOperation::read, expected.read},      {FsOperation::exec, expected.read && expected.exec},
          {FsOperation::write, expected.write},    {FsOperation::create, expected.write},
          {FsOperation::remove, expected.movable}, {FsOperation::rename, expected.movable}};
      for (const auto& [operation, allowed] : operations) {
        const Explanation why = explain_path(policy, operation, path);
        if (why.allowed != allowed || why.suggestion.empty() != allowed) RC_FAIL(shown(policy, path));
        if (allowed) continue;
        const auto profile = [&policy](std::string_view) { return std::optional(canonical(policy)); };
        const auto mended =
            parse("version: 1\nname: mended\nextends: [any]\n" + why.suggestion + "\n", "mended", profile);
        if (!mended) RC_FAIL(format(mended.error()));
        if (!explain_path(*mended, operation, path).allowed) RC_FAIL(shown(*mended, path));
      }
    }
  }));
}

TEST(FilesystemProperties, images_are_the_same_each_time) {
  EXPECT_TRUE(rc::check("the same policy and view give the same image", [] {
    const Policy policy = any_policy();
    const Host host = any_host();
    const auto image = compile(policy, 1, host.view(policy));
    if (!image) return;
    const auto again = compile(policy, 1, host.view(policy));
    RC_ASSERT(image->entries.size() == again->entries.size());
    RC_ASSERT(image_sha256(image->entries) == image_sha256(again->entries));
  }));
}

}  // namespace
}  // namespace sbpf::policy
