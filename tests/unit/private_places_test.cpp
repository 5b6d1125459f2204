// SPDX-License-Identifier: Apache-2.0
// `filesystem.private`: open where the sandbox has another directory than the host, and closed where it has none.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "agent/files/private_places.h"
#include "agent/files/view_codec.h"
#include "policy/advice.h"
#include "tests/unit/fs_host.h"

namespace sbpf::policy {
namespace {

const Policy kOwn = parse(
                        "version: 1\nname: own\n"
                        "filesystem: {read: [/usr], private: [/tmp, /var/tmp], protect: [/tmp/kept]}\n",
                        "p.yaml", nullptr)
                        .value();

FsView hosts_view(const Policy& policy) {
  FsView view = empty_view(policy);
  view.private_places.clear();
  return view;
}

TEST(PrivatePlaces, are_written_like_other_lists) {
  EXPECT_EQ(private_places(kOwn), (std::set<std::string>{"/tmp", "/var/tmp"}));
  const std::string text = canonical(kOwn);
  EXPECT_NE(text.find("  private:\n    - /tmp\n    - /var/tmp\n"), std::string::npos) << text;
  EXPECT_EQ(canonical(parse(text, "c.yaml", nullptr).value()), text);
}

TEST(PrivatePlaces, are_open_where_they_are_the_sandboxs_and_else_closed) {
  fs_host::Host host;
  for (const char* path : {"/tmp/kept", "/var/tmp", "/usr"}) host.make(path);
  FsView view = host.view(kOwn);
  view.private_places = {{"/tmp", {}}};
  const auto image = compile(kOwn, 1, view);
  ASSERT_TRUE(image) << (image ? "" : image.error().message);
  EXPECT_EQ(fs_rights_at(*image, "/tmp/x"), SBPF_FS_READ | SBPF_FS_WRITE | SBPF_FS_EXEC);
  EXPECT_EQ(fs_rights_at(*image, "/tmp/kept"), SBPF_FS_READ | SBPF_FS_EXEC);
  EXPECT_EQ(fs_rights_at(*image, "/var/tmp/x"), SBPF_FS_EXEC) << "programs are not judged";
  EXPECT_TRUE(fs_rule_writes(*image, "/tmp/x"));
  EXPECT_FALSE(fs_rule_writes(*image, "/var/tmp/x"));
}

// The host's directory has the name of the place as well, and other mounts to be seen by.
TEST(PrivatePlaces, are_known_by_their_directory_and_not_by_their_name) {
  fs_host::Host host;
  for (const char* path : {"/tmp", "/usr"}) host.make(path);
  const auto image = compile(kOwn, 1, host.view(kOwn));
  ASSERT_TRUE(image);
  const auto named = find_named(image->entries, fs_name_key(SBPF_FS_ROOT_NODE, "tmp"), "tmp");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->rights, 0u);
  EXPECT_EQ(fs_rights_at(*image, "/tmp/x") & SBPF_FS_WRITE, SBPF_FS_WRITE);
}

TEST(PrivatePlaces, the_hidden_directory_is_closed_wherever_it_is_seen_unless_a_rule_names_it) {
  fs_host::Host host;
  for (const char* path : {"/tmp", "/var/tmp", "/usr", "/data/tmp/sub"}) host.make(path);
  const FsInode seen = host.inodes.at("/data/tmp");
  const auto rights = [&](const char* rules, const FsInode& hidden) -> std::optional<__u32> {
    const Policy policy =
        parse(std::string("version: 1\nname: own\nfilesystem: {private: [/tmp], ") + rules + "}\n", "p.yaml", nullptr)
            .value();
    FsView view = host.view(policy);
    view.private_places["/tmp"] = hidden;
    const auto image = compile(policy, 1, view);
    EXPECT_TRUE(image) << (image ? "" : image.error().message);
    const auto found = image->entries.find(fs_inode_key(hidden));
    if (found == image->entries.end()) return std::nullopt;
    sbpf_fs_node node;
    std::memcpy(&node, &found->second, sizeof node);
    return node.rights & (SBPF_FS_READ | SBPF_FS_WRITE);
  };
  EXPECT_EQ(rights("write: [/]", {77, 9, 0, true}), 0u);
  EXPECT_EQ(rights("read: [/]", seen), 0u);
  EXPECT_EQ(rights("read: [/], write: [/data/tmp/sub]", seen), 0u) << "what leads to a rule is not named by one";
  EXPECT_EQ(rights("read: [/], write: [/data/tmp]", seen), SBPF_FS_READ | SBPF_FS_WRITE);
  host.inodes["/mnt"] = {88, 9, 0, true};
  host.mounts.insert("/mnt");
  EXPECT_EQ(rights("write: [/]", {88, 9, 0, true}), 0u) << "mounted as a whole";
}

TEST(PrivatePlaces, keep_the_directories_above_where_they_are) {
  const Policy policy =
      parse("version: 1\nname: own\nfilesystem: {write: [/srv/w], private: [/srv/w/a/own]}\n", "p.yaml", nullptr)
          .value();
  EXPECT_FALSE(explain_path(policy, FsOperation::rename, "/srv/w/a").allowed);
  EXPECT_TRUE(explain_path(policy, FsOperation::rename, "/srv/w/b").allowed);
  fs_host::Host host;
  host.make("/srv/w/a/own");
  const auto image = compile(policy, 1, host.view(policy));
  ASSERT_TRUE(image);
  sbpf_fs_node node;
  std::memcpy(&node, &image->entries.at(fs_inode_key(host.inodes.at("/srv/w/a"))), sizeof node);
  EXPECT_NE(node.flags & SBPF_FS_HOLDS, 0u);
}

TEST(PrivatePlaces, of_one_profile_no_other_opens) {
  const auto profiles = [](std::string_view name) -> std::optional<std::string> {
    if (name == "closed") return "version: 1\nname: closed\nfilesystem: {private: [/tmp, /var/tmp]}\n";
    if (name == "open") return "version: 1\nname: open\nfilesystem: {write: [/tmp], deny: [/var/tmp]}\n";
    if (name == "shared") return "version: 1\nname: shared\nextends: [closed]\nfilesystem: {write: [/tmp]}\n";
    return std::nullopt;
  };
  const auto own = [&](const char* text) {
    return private_places(parse(std::string("version: 1\nname: t\n") + text, "t.yaml", profiles).value());
  };
  EXPECT_EQ(own("extends: [closed, open]\n"), std::set<std::string>{"/tmp"}) << "to deny is no opening";
  EXPECT_EQ(own("extends: [open, closed]\n"), (std::set<std::string>{"/tmp", "/var/tmp"}));
  EXPECT_EQ(own("extends: [closed, shared]\n"), (std::set<std::string>{"/tmp", "/var/tmp"}));
  EXPECT_EQ(own("extends: [shared]\n"), std::set<std::string>{"/var/tmp"}) << "who extends it knows it";
  EXPECT_EQ(own("extends: [closed]\nfilesystem: {write: [/tmp]}\n"), std::set<std::string>{"/var/tmp"});
}

TEST(PrivatePlaces, no_link_is_followed_that_the_sandbox_may_have_made_in_one) {
  Policy policy = kOwn;
  policy.filesystem.rules.push_back({"/var/tmp/link", FsAccess::read, {}});
  FsView view = empty_view(policy);
  view.links.push_back({"/var/tmp/link", view.paths["/var/tmp/link"].front(), {}, "/etc"});
  const auto own = compile(policy, 1, view);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code.str(), "planted_link");
  view.private_places.clear();
  EXPECT_TRUE(compile(policy, 1, view));
}

TEST(PrivatePlaces, of_the_host_are_shared_by_a_rule_for_the_place) {
  for (const FsOperation operation : {FsOperation::read, FsOperation::write, FsOperation::create}) {
    EXPECT_TRUE(explain_path(kOwn, operation, "/tmp/x").allowed) << "as `run` makes it";
    const Explanation shared = explain_path(kOwn, hosts_view(kOwn), operation, "/tmp/x");
    EXPECT_FALSE(shared.allowed);
    EXPECT_EQ(shared.rule, "filesystem.private: /tmp");
    EXPECT_EQ(shared.suggestion, "filesystem: {write: [/tmp]}");
    EXPECT_EQ(advice(kOwn, operation, "/tmp/x"), "filesystem: {write: [/tmp]}") << "it was denied";
  }
  const auto changed = with_change(kOwn, "filesystem: {write: [/tmp]}");
  ASSERT_TRUE(changed);
  EXPECT_EQ(private_places(*changed), std::set<std::string>{"/var/tmp"});
}

TEST(PrivatePlaces, hard_links_are_looked_for_there_as_where_a_rule_writes) {
  const auto itself = [](const std::string& path) { return std::vector<std::string>{path}; };
  EXPECT_EQ(places_of_other_names(kOwn, itself), std::set<std::string>{"/tmp/kept"});
  EXPECT_EQ(places_of_other_names(Policy(kOwn), kOwn), (std::set<std::string>{"/tmp", "/var/tmp"}));
}

}  // namespace
}  // namespace sbpf::policy

namespace sbpf::agent {
namespace {

TEST(PrivatePlaces, are_carried_from_the_process_that_looks) {
  policy::FsView view;
  view.private_places = {{"/tmp", policy::FsInode{5, 6, 7, true}}, {"/a\xff", std::nullopt}};
  const auto back = unpacked(packed(view));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->private_places, view.private_places);
}

TEST(PrivatePlaces, are_known_by_what_run_mounts) {
  EXPECT_TRUE(is_private_place({1, 1, "0:2", "/", "/tmp", "tmpfs", "sbpf-private"}));
  EXPECT_FALSE(is_private_place({1, 1, "0:2", "/", "/tmp", "tmpfs", "tmpfs"}));
  EXPECT_FALSE(is_private_place({1, 1, "0:2", "/a", "/tmp", "tmpfs", "sbpf-private"})) << "a part of another's";
  EXPECT_FALSE(is_private_place({1, 1, "8:1", "/", "/tmp", "ext4", "sbpf-private"}));
}

TEST(PrivatePlaces, hide_what_the_first_process_has) {
  struct stat first {
  }, found{};
  if (::stat("/proc/1/root/usr", &first) != 0) {
    EXPECT_FALSE(open_hidden("/usr")) << "it cannot be told";
    return;
  }
  const Fd usr = open_hidden("/usr");
  ASSERT_TRUE(usr);
  ASSERT_EQ(::fstat(usr.get(), &found), 0);
  EXPECT_EQ(first.st_ino, found.st_ino);
  EXPECT_FALSE(open_hidden("/none"));
  EXPECT_FALSE(open_hidden("/etc/passwd")) << "which is no directory";
}

}  // namespace
}  // namespace sbpf::agent
