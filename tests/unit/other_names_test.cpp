// SPDX-License-Identifier: Apache-2.0
// The files below a directory that have several names.
#include "agent/files/other_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "agent/files/path_walk.h"
#include "tests/unit/temp_dir.h"

namespace sbpf::agent {
namespace {

namespace fs = std::filesystem;

class OtherNames : public InTempDir {
 protected:
  void file(const std::string& name) const {
    fs::create_directories((top_ / name).parent_path());
    std::ofstream(top_ / name) << "text";
  }
  void link(const std::string& file, const std::string& name) const {
    fs::create_directories((top_ / name).parent_path());
    fs::create_hard_link(top_ / file, top_ / name);
  }
  // What is found below `below`, whose place is called "/top".
  std::set<std::string> found(const std::string& below, const std::set<std::uint64_t>& renamed = {}) const {
    const Fd fd(::open((top_ / below).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    std::set<std::string> all;
    const auto done = each_file_with_other_names(
        fd, {"top"}, renamed, [](const std::string&) {},
        [&](const std::vector<std::string>& names) { all.insert(join(names, names.size())); });
    EXPECT_TRUE(done) << done.error().message;
    return all;
  }
};

TEST_F(OtherNames, those_with_several_alone) {
  file("a/one");
  file("a/two");
  file("a/b/three");
  link("a/two", "elsewhere");
  link("a/b/three", "a/four");
  EXPECT_EQ(found("a"), (std::set<std::string>{"/top/two", "/top/four", "/top/b/three"}));
  EXPECT_EQ(found("a/b"), std::set<std::string>{"/top/three"});
  EXPECT_EQ(found("a/two"), std::set<std::string>{"/top"}) << "a file";
  EXPECT_EQ(found("a/one"), std::set<std::string>{});
}

TEST_F(OtherNames, those_that_are_open_by_one_that_is_gone) {
  file("a/one");
  file("a/two");
  struct stat info {};
  ASSERT_EQ(::stat((top_ / "a/one").c_str(), &info), 0);
  EXPECT_EQ(found("a", {info.st_ino}), std::set<std::string>{"/top/one"});
  ASSERT_EQ(::stat((top_ / "a").c_str(), &info), 0);
  EXPECT_EQ(found("a", {info.st_ino}), std::set<std::string>{}) << "a directory";
}

TEST_F(OtherNames, links_are_not_followed_and_pipes_not_opened) {
  file("outside/one");
  link("outside/one", "outside/two");
  fs::create_directories(top_ / "a");
  fs::create_directory_symlink(top_ / "outside", top_ / "a/link");
  fs::create_symlink(top_ / "outside/one", top_ / "a/file");
  ASSERT_EQ(::linkat(AT_FDCWD, (top_ / "a/file").c_str(), AT_FDCWD, (top_ / "a/again").c_str(), 0), 0)
      << "a link with two names";
  ASSERT_EQ(::mkfifo((top_ / "a/pipe").c_str(), 0600), 0);
  link("a/pipe", "a/pipe2");
  EXPECT_EQ(found("a"), (std::set<std::string>{"/top/pipe", "/top/pipe2"}));
  EXPECT_EQ(found("a/file"), std::set<std::string>{});
}

TEST_F(OtherNames, as_deep_as_the_hooks_walk) {
  std::string deep = "a";
  for (int i = 0; i < 100; i++) {
    deep += "/d";
    if (i == 20) file(deep + "/here");
  }
  file(deep + "/too-deep");
  link(deep + "/too-deep", "two");
  std::string at = "a";
  for (int i = 0; i < 21; i++) at += "/d";
  link(at + "/here", "one");
  EXPECT_EQ(found("a").size(), 1u);
}

TEST_F(OtherNames, what_is_no_file_is_an_error) {
  const auto done = each_file_with_other_names(
      Fd(), {"top"}, {}, [](const std::string&) {}, [](const std::vector<std::string>&) {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code.text(), "fs_view");
  EXPECT_EQ(done.error().sys_errno, EBADF);
  EXPECT_NE(done.error().message.find("/top"), std::string::npos);
}

}  // namespace
}  // namespace sbpf::agent
