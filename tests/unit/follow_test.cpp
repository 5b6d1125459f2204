// SPDX-License-Identifier: Apache-2.0
// Where paths lead, name by name, and through which links.
#include "agent/files/path_walk.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/unit/temp_dir.h"

namespace sbpf::agent {
namespace {

namespace fs = std::filesystem;

class Follow : public InTempDir {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(InTempDir::SetUp());
    fs::create_directories(top_ / "a/b");
    std::ofstream(top_ / "file") << "text";
    root_ = Fd(::open(top_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

  void link(const std::string& target, const std::string& at) const { fs::create_symlink(target, top_ / at); }
  // "/a/b 2", and after it each link: " /l" or, the path's own last component, " =/l".
  std::string follow(const std::string& path) {
    const auto found = Follower(root_, ::getuid(), [](const std::string&) {}).follow(path);
    if (!found) return found.error().code.str() + " " + std::to_string(found.error().sys_errno);
    std::string text = join(found->names, found->names.size()) + " " + std::to_string(found->existing);
    for (const Link& one : found->links) text += (one.last ? " =" : " ") + join(one.names, one.names.size());
    return text;
  }

  Fd root_;
};

TEST_F(Follow, what_exists_and_the_rest) {
  EXPECT_EQ(follow("/"), "/ 0");
  EXPECT_EQ(follow("/a/b"), "/a/b 2");
  EXPECT_EQ(follow("//a///b/c/d"), "/a/b/c/d 2");
  EXPECT_EQ(follow("/file/x/y"), "/file/x/y 1") << "a file stands where a directory is wanted";
}

TEST_F(Follow, links_are_told_with_the_place_where_they_lie) {
  link("a", "l");
  link("/a/b", "a/absolute");
  EXPECT_EQ(follow("/l"), "/a 1 =/l");
  EXPECT_EQ(follow("/l/b"), "/a/b 2 /l");
  EXPECT_EQ(follow("/l/absolute/x"), "/a/b/x 2 /l /a/absolute");
}

TEST_F(Follow, only_the_paths_own_last_component_is_its_last) {
  link("y", "x");
  link("a/b", "y");
  EXPECT_EQ(follow("/x"), "/a/b 2 =/x /y");
  EXPECT_EQ(follow("/x/../x"), "/a/x 1 /x /y") << "beside what the first led to, there is none";
}

TEST_F(Follow, a_link_that_leads_nowhere_keeps_its_names) {
  link("none/such", "dangling");
  EXPECT_EQ(follow("/dangling/x"), "/none/such/x 0 /dangling");
}

TEST_F(Follow, dots_of_a_link_go_up_and_no_further_than_the_root) {
  link("../a/./b/..", "a/up");
  link("../../../../../etc", "out");
  EXPECT_EQ(follow("/a/up/b"), "/a/b 2 /a/up");
  EXPECT_EQ(follow("/out"), "/etc 0 =/out");
  EXPECT_EQ(follow("/out/../a"), "/a 1 /out");
}

TEST_F(Follow, a_circle_is_an_error) {
  link("two", "one");
  link("one", "two");
  EXPECT_EQ(follow("/one"), "fs_view " + std::to_string(ELOOP));
  link(".", "here");
  std::string path;
  for (int i = 0; i < 40; i++) path += "/here";
  EXPECT_EQ(follow(path).substr(0, 3), "/ 0");
  EXPECT_EQ(follow(path + "/here"), "fs_view " + std::to_string(ELOOP));
}

TEST_F(Follow, whose_a_link_is) {
  link("a", "l");
  ASSERT_EQ(::lchown((top_ / "l").c_str(), 1234, 1234), 0);
  const auto found = Follower(root_, ::getuid(), [](const std::string&) {}).follow("/l");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->links.at(0).owner, 1234u);
  EXPECT_EQ(found->links.at(0).target, "a");
}

TEST_F(Follow, what_is_opened_later_leads_through_no_link) {
  link("a", "l");
  const Follower paths(root_, 0, [](const std::string&) {});
  EXPECT_TRUE(paths.open("/a/b"));
  EXPECT_TRUE(paths.open("/l")) << "the link itself";
  EXPECT_FALSE(paths.open("/l/b"));
  EXPECT_EQ(errno, ELOOP);
}

TEST_F(Follow, a_directory_in_which_others_rename_is_told) {
  fs::create_directories(top_ / "open/deep");
  link("/a", "open/deep/l");
  link("/a", "l");
  const auto below = [&](const std::string& path) {
    const auto found = Follower(root_, ::getuid(), [](const std::string&) {}).follow(path);
    return found && found->links.size() == 1 ? found->links[0].below : "no link";
  };
  EXPECT_EQ(below("/open/deep/l"), "");
  fs::permissions(top_ / "open", fs::perms::all);
  EXPECT_EQ(below("/open/deep/l"), "/open");
  fs::permissions(top_ / "open", fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(below("/open/deep/l"), "");
  const fs::perms group = fs::perms::owner_all | fs::perms::group_all;
  fs::permissions(top_ / "open", group);
  EXPECT_EQ(below("/open/deep/l"), "") << "root's own group";
  ASSERT_EQ(::chown((top_ / "open").c_str(), 0, 1234), 0);
  EXPECT_EQ(below("/open/deep/l"), "/open");
  fs::permissions(top_ / "open", group | fs::perms::sticky_bit);
  EXPECT_EQ(below("/open/deep/l"), "");
  fs::permissions(top_ / "open", fs::perms::owner_all | fs::perms::group_read);
  EXPECT_EQ(below("/open/deep/l"), "");
  EXPECT_EQ(below("/l"), "");
}

TEST_F(Follow, a_directory_that_a_list_lets_others_write_is_told) {
  fs::create_directories(top_ / "listed");
  link("/a", "listed/l");
  struct Entry {
    std::uint16_t tag, rights;
    std::uint32_t id;
  };
  // Owner, user 1234, group, mask, others: linux/posix_acl_xattr.h.
  const Entry entries[] = {{1, 7, ~0u}, {2, 7, 1234}, {4, 5, ~0u}, {16, 7, ~0u}, {32, 5, ~0u}};
  std::array<char, 4 + sizeof entries> list{2};
  std::memcpy(list.data() + 4, entries, sizeof entries);
  const auto below = [&] {
    return Follower(root_, ::getuid(), [](const std::string&) {}).follow("/listed/l")->links.at(0).below;
  };
  EXPECT_EQ(below(), "");
  ASSERT_EQ(::setxattr((top_ / "listed").c_str(), "system.posix_acl_access", list.data(), list.size(), 0), 0);
  EXPECT_EQ(below(), "/listed");
}

}  // namespace
}  // namespace sbpf::agent
