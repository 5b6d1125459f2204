// SPDX-License-Identifier: Apache-2.0
// The filesystem entries of an image for what is mounted.
#include "tests/unit/fs_image_words.h"

namespace sbpf::policy {
namespace {

TEST(FilesystemImage, mounts_have_the_rights_of_their_place) {
  const Policy policy = policy_of("  write: [/workspace]\n  deny: [/workspace/no/thing]\n  read: [/proc]\n");
  Host host;
  for (const char* path : {"/proc", "/workspace/data", "/workspace/no", "/home/me"}) {
    host.make(path);
    host.mounts.insert(path);
  }
  const Image image = compiled(policy, host.view(policy));
  EXPECT_EQ(inode(image, host, "/proc"), "2 r ruled by 0") << "a rule's own inode";
  EXPECT_EQ(inode(image, host, "/workspace/data"), "3 rw by 1") << "of /workspace, but holds nothing of it";
  EXPECT_EQ(inode(image, host, "/workspace/no"), "4 rw named holds by 1");
  EXPECT_EQ(inode(image, host, "/home/me"), "1 - default");
}

TEST(FilesystemImage, a_mount_on_a_node_that_did_not_know_it_keeps_names) {
  const Policy policy = policy_of("  write: [/w]\n  deny: [/w/no]\n");
  Host host;
  host.make("/w");
  FsView view = host.view(policy);
  view.mounts.push_back(
      {{"", host.inodes.at("/")}, {"w", FsInode{5000, 9, 0, true}}});  // below what the rule's path found
  const Image image = compiled(policy, view);
  EXPECT_EQ(at(image, fs_inode_key({5000, 9, 0, true})), "2 rw named holds ruled by 0");
}

TEST(FilesystemImage, a_root_that_is_mounted_twice_has_the_least_rights) {
  const Policy policy = policy_of("  write: [/b]\n  deny: [/a, /c]\n");
  Host host;
  for (const char* path : {"/a/m", "/b/m", "/c/m"}) {
    host.make(path);
    host.inodes[path] = {9000, 3, 0};
    host.mounts.insert(path);
  }
  EXPECT_EQ(inode(compiled(policy, host.view(policy)), host, "/b/m"), "2 - by 0");
}

// Each place has a right that the other has not: what both have is left, whichever comes first.
TEST(FilesystemImage, a_root_that_is_mounted_to_be_run_and_to_be_written_is_only_read) {
  for (const auto& [run, write] : {std::pair{"/a", "/b"}, std::pair{"/b", "/a"}}) {
    const Policy policy = policy_of("  read: [" + std::string(run) + "]\n  write: [" + write +
                                    "]\nprocess:\n  exec: {allow: [" + run + "]}\n");
    Host host;
    for (const char* path : {"/a/m", "/b/m"}) {
      host.make(path);
      host.mounts.insert(path);
    }
    const auto rights_at = [&](const char* path) {
      const Image image = compiled(policy, host.view(policy));
      const auto found = image.entries.find(fs_inode_key(host.inodes.at(path)));
      EXPECT_NE(found, image.entries.end());
      sbpf_fs_node node{};
      if (found != image.entries.end()) std::memcpy(&node, &found->second, sizeof node);
      return node.rights;
    };
    const std::string run_mount = std::string(run) + "/m", write_mount = std::string(write) + "/m";
    EXPECT_EQ(rights_at(run_mount.c_str()), static_cast<__u32>(SBPF_FS_READ | SBPF_FS_EXEC));
    EXPECT_EQ(rights_at(write_mount.c_str()), static_cast<__u32>(SBPF_FS_READ | SBPF_FS_WRITE));
    for (const char* path : {"/a/m", "/b/m"}) host.inodes[path] = {9000, 3, 0};
    EXPECT_EQ(rights_at("/a/m"), static_cast<__u32>(SBPF_FS_READ));
  }
}

TEST(FilesystemImage, a_root_that_is_mounted_twice_has_the_least_rights_in_either_order) {
  const Policy policy = policy_of("  write: [/a]\n  read: [/b]\n  deny: [/c]\n");
  Host host;
  for (const char* path : {"/a/m", "/b/m"}) {
    host.make(path);
    host.inodes[path] = {9000, 3, 0};
    host.mounts.insert(path);
  }
  EXPECT_EQ(inode(compiled(policy, host.view(policy)), host, "/a/m").substr(1, 3), " r ");
  host.make("/c/m");
  host.inodes["/c/m"] = {9000, 3, 0};
  host.mounts.insert("/c/m");
  EXPECT_EQ(inode(compiled(policy, host.view(policy)), host, "/a/m").substr(1, 3), " - ");
}

// A bind mount on the way to a rule: else the way would open what another rule denies.
TEST(FilesystemImage, a_mount_on_the_way_to_a_rule_has_the_least_of_its_places) {
  const Policy policy = policy_of(
      "  default: read\n  write: [/m/a/below/w, /m/b/w]\n  deny: [/srv/secret]\n  protect: [/m/b/w/new/no]\n");
  Host host;
  for (const char* path : {"/m/a/below/w", "/m/b/w", "/srv/secret/a", "/srv/b"}) host.make(path);
  host.elsewhere = {{"/srv/secret/a", {"/m/a", "/"}}, {"/srv/b", {"/m/b", "/"}}};
  const Image image = compiled(policy, host.view(policy));
  EXPECT_EQ(inode(image, host, "/m"), "2 r named holds default");
  EXPECT_EQ(inode(image, host, "/m/a"), "3 - named holds by 3");
  EXPECT_EQ(inode(image, host, "/m/a/below"), "4 - named by 3") << "what is in it, too";
  EXPECT_EQ(inode(image, host, "/m/a/below/w"), "5 rw ruled by 0") << "but where a rule names it";
  EXPECT_EQ(inode(image, host, "/m/b"), "6 r named holds default");
}

TEST(FilesystemImage, a_mount_that_a_rule_names_has_the_rights_of_that_rule) {
  const Policy policy = policy_of("  write: [/m]\n  deny: [/srv/secret]\n");
  Host host;
  for (const char* path : {"/m", "/srv/secret/a"}) host.make(path);
  host.elsewhere = {{"/srv/secret/a", {"/m", "/"}}};
  EXPECT_EQ(inode(compiled(policy, host.view(policy)), host, "/m"), "2 rw ruled by 0");
}

// The kernel's walk goes up in the directory's own filesystem: another bind mount of it is not on that way.
TEST(FilesystemImage, a_mount_on_the_way_loses_nothing_for_a_third_place) {
  const Policy policy = policy_of("  read: [/pub, /data]\n  write: [/pub/data/out]\n  deny: [/vol]\n");
  Host host;
  for (const char* path : {"/pub/data/out", "/data/x", "/vol/v"}) host.make(path);
  host.elsewhere = {{"/data/x", {"/pub/data", "/"}}, {"/vol/v", {"/pub/data", "/vol/v"}}};
  EXPECT_EQ(inode(compiled(policy, host.view(policy)), host, "/pub/data").substr(1, 3), " r ");
  host.elsewhere.erase("/data/x");
  EXPECT_EQ(inode(compiled(policy, host.view(policy)), host, "/pub/data").substr(1, 3), " - ")
      << "nothing else says where it is";
}

// One directory at two places: it has the rule's rights, whichever name comes first.
TEST(FilesystemImage, a_mount_that_is_on_the_way_and_named_has_the_rights_of_the_rule) {
  for (const char* way : {"/a", "/z"}) {
    const Policy policy = policy_of("  write: [/m, " + std::string(way) + "/w]\n  default: write\n  deny: [/srv]\n");
    Host host;
    for (const char* path : {"/m", "/srv/x", "/a/w", "/z/w"}) host.make(path);
    host.inodes[way] = host.inodes.at("/m");
    host.elsewhere = {{"/srv/x", {way, "/"}}};
    EXPECT_EQ(inode(compiled(policy, host.view(policy)), host, "/m").substr(1, 4), " rw ") << way;
  }
}

// Of programs and of sockets alike; a place that denies files may still run what it has.
TEST(FilesystemImage, a_mount_on_the_way_loses_of_each_kind_what_a_place_lacks) {
  const auto policy = parse(
      "version: 1\nname: p\nnetwork: {unix: [/m]}\nfilesystem: {default: read, read: [/m/a/x]}\n"
      "process: {exec: {allow: [/m]}}\n",
      "p.yaml", nullptr);
  ASSERT_TRUE(policy) << format(policy.error());
  Host host;
  for (const char* path : {"/m/a/x", "/srv"}) host.make(path);
  const auto rights = [&](const char* path) {
    sbpf_fs_node node{};
    const Image image = compiled(*policy, host.view(*policy));
    std::memcpy(&node, &image.entries.at(fs_inode_key(host.inodes.at(path))), sizeof node);
    return node.rights;
  };
  constexpr __u32 kAll = SBPF_FS_READ | SBPF_FS_EXEC | SBPF_FS_TALK;
  EXPECT_EQ(rights("/m/a"), kAll);
  host.elsewhere = {{"/srv", {"/m/a", "/"}}};
  EXPECT_EQ(rights("/m/a"), kRead) << "/srv is neither run nor talked to";
  EXPECT_EQ(rights("/m/a/x"), kRead) << "the rule for files says nothing of that";
  EXPECT_EQ(rights("/m"), kAll);
}

}  // namespace
}  // namespace sbpf::policy
