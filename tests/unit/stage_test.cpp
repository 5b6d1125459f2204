// SPDX-License-Identifier: Apache-2.0
#include "agent/stage/stage.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

#include "agent/stage/stage_copy.h"
#include "tests/unit/stage_dir.h"

namespace sbpf::agent {
namespace {

using internal::link_form;
using internal::LinkForm;

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

// ---- what is copied --------------------------------------------------------------------------------------------

TEST_F(Stage, a_file_is_copied_and_counted) {
  write_file(root_ / "a/b", "hello");
  const auto staged = stage(options("a/b"));
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(staged->files, 1U);
  EXPECT_EQ(staged->directories, 0U);
  EXPECT_EQ(staged->bytes, 5U);
  EXPECT_EQ(read_file(out_ / "copy"), "hello");
  EXPECT_EQ(entries_out(), 1U);
}

TEST_F(Stage, a_directory_is_copied_with_all_that_is_in_it) {
  write_file(root_ / "a/b/c", "1234");
  write_file(root_ / "a/.hidden", "");
  fs::create_directories(root_ / "a/empty");
  fs::create_symlink("b/c", root_ / "a/link");
  fs::create_symlink("../.hidden", root_ / "a/b/up");
  fs::create_symlink("no/such", root_ / "a/dangling");
  const auto staged = stage(options("a"));
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(staged->files, 2U);
  EXPECT_EQ(staged->directories, 3U);
  EXPECT_EQ(staged->links, 3U);
  EXPECT_EQ(staged->bytes, 4U);
  EXPECT_EQ(read_file(out_ / "copy/b/c"), "1234");
  EXPECT_EQ(read_file(out_ / "copy/link"), "1234");
  EXPECT_EQ(fs::read_symlink(out_ / "copy/dangling"), "no/such");
  EXPECT_TRUE(fs::is_empty(out_ / "copy/empty"));
}

TEST_F(Stage, the_whole_root_and_roundabout_ways_within_it_are_beneath_it) {
  write_file(root_ / "a/b", "1");
  for (const char* source : {".", "./", "a/..", "a/../a/../."}) {
    StageOptions wanted = options(source);
    wanted.replace = true;
    const auto staged = stage(wanted);
    ASSERT_TRUE(staged) << source << ": " << staged.error().message;
    EXPECT_EQ(read_file(out_ / "copy/a/b"), "1") << source;
  }
}

TEST_F(Stage, links_on_the_way_that_stay_beneath_the_root_are_followed) {
  write_file(root_ / "real/file", "1");
  fs::create_symlink("real", root_ / "dir");
  fs::create_symlink("../real/file", root_ / "real/again");
  const auto staged = stage(options("dir/again"));
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(read_file(out_ / "copy"), "1");
  EXPECT_FALSE(fs::is_symlink(out_ / "copy"));
}

TEST_F(Stage, modes_are_kept_but_set_id_and_sticky_bits_are_dropped) {
  write_file(root_ / "d/suid", "1");
  write_file(root_ / "d/sealed/x", "1");
  ASSERT_EQ(::chmod((root_ / "d/suid").c_str(), 06755), 0);
  ASSERT_EQ(::chmod((root_ / "d/sealed/x").c_str(), 0600), 0);
  ASSERT_EQ(::chmod((root_ / "d/sealed").c_str(), 0555), 0);
  ASSERT_EQ(::chmod((root_ / "d").c_str(), 03775), 0);
  ASSERT_TRUE(stage(options("d")));
  EXPECT_EQ(mode_of(out_ / "copy"), 0775U);
  EXPECT_EQ(mode_of(out_ / "copy/suid"), 0755U);
  EXPECT_EQ(mode_of(out_ / "copy/sealed"), 0555U);
  EXPECT_EQ(mode_of(out_ / "copy/sealed/x"), 0600U);
  StageOptions file = options("d/suid");
  file.destination = out_ / "file";
  ASSERT_TRUE(stage(file));
  EXPECT_EQ(mode_of(out_ / "file"), 0755U);
}

TEST_F(Stage, hard_links_become_files) {
  write_file(root_ / "d/one", "1");
  fs::create_hard_link(root_ / "d/one", root_ / "d/two");
  const auto staged = stage(options("d"));
  ASSERT_TRUE(staged);
  EXPECT_EQ(staged->files, 2U);
  EXPECT_EQ(fs::hard_link_count(out_ / "copy/one"), 1U);
  EXPECT_EQ(read_file(out_ / "copy/two"), "1");
}

TEST_F(Stage, holes_stay_holes) {
  constexpr off_t kSize = off_t{4} << 20;
  write_file(root_ / "sparse", "begin");
  const Fd file(::open((root_ / "sparse").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "middle", 6, kSize / 2), 6);
  ASSERT_EQ(::ftruncate(file.get(), kSize), 0);
  const auto staged = stage(options("sparse"));
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(staged->bytes, static_cast<std::uint64_t>(kSize));
  struct stat info {};
  ASSERT_EQ(::stat((out_ / "copy").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, kSize);
  EXPECT_LT(info.st_blocks * 512, kSize / 2);
  EXPECT_TRUE(read_file(root_ / "sparse") == read_file(out_ / "copy"));
}

TEST_F(Stage, long_names_and_deep_directories_are_copied_and_too_deep_ones_are_not) {
  const std::string name(255, 'n');
  const auto dig = [&](const char* top, std::size_t levels) {
    fs::create_directories(root_ / top);
    Fd dir(::open((root_ / top).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (std::size_t i = 0; i < levels; i++) {
      ASSERT_EQ(::mkdirat(dir.get(), name.c_str(), 0700), 0);
      dir = Fd(::openat(dir.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
  };
  dig("deep", 200);
  const auto staged = stage(options("deep"));
  ASSERT_TRUE(staged) << staged.error().code.text();
  EXPECT_EQ(staged->directories, 201U);
  dig("deepest", kStageMaxDepth - 1);
  StageOptions deepest = options("deepest");
  deepest.destination = out_ / "deepest";
  const auto most = stage(deepest);
  ASSERT_TRUE(most) << most.error().code.text();
  EXPECT_EQ(most->directories, kStageMaxDepth);
  dig("deeper", kStageMaxDepth);
  StageOptions deeper = options("deeper");
  deeper.destination = out_ / "deeper";
  refused(deeper, "too_large");
  StageOptions longest = options("deep/" + name);
  longest.destination = out_ / name;
  EXPECT_TRUE(stage(longest));
}

// ---- what leads out (BF-3) -------------------------------------------------------------------------------------

TEST_F(Stage, what_leads_out_of_the_root_is_a_path_escape_and_nothing_is_written) {
  write_file(root_ / "foo/x", "1");
  fs::create_symlink("../secret", root_ / "file");
  fs::create_symlink(top_ / "secret", root_ / "absolute");
  fs::create_symlink("../secrets", root_ / "dir");
  fs::create_symlink("foo/../..", root_ / "winding");
  fs::create_symlink("/proc/self/root", root_ / "magic");
  fs::create_symlink("/proc/self/cwd", root_ / "cwd");
  fs::create_symlink(root_ / "foo", root_ / "absolute-within");
  fs::create_symlink("loop", root_ / "loop");
  const std::string secret = fs::relative(top_ / "secret", "/").string();
  for (const std::string& source :
       {std::string("../secret"), std::string("foo/../../x"), std::string("foo/../../secret"), std::string(".."),
        std::string("no/such/../../../secret"), std::string(""), std::string("/etc/passwd"), (root_ / "foo/x").string(),
        std::string("foo/x\0", 6), std::string("foo\0/../../secret", 17), std::string("file"), std::string("absolute"),
        std::string("dir"), std::string("dir/name"), std::string("winding/secret"), "magic/" + secret,
        std::string("cwd"), std::string("absolute-within/x"), std::string("loop")}) {
    refused(source, "path_escape");
    const auto staged = stage(options(source));
    ASSERT_FALSE(staged);
    EXPECT_NE(staged.error().hint, "") << source;
  }
}

TEST_F(Stage, a_magic_link_beneath_the_root_is_a_path_escape) {
  StageOptions wanted = options("cwd");
  wanted.root = "/proc/self";
  refused(wanted, "path_escape");
  wanted.source = "root/etc/hostname";
  refused(wanted, "path_escape");
  wanted.source = "fd/0";
  refused(wanted, "path_escape");
}

TEST_F(Stage, a_link_out_of_a_copied_directory_is_a_path_escape) {
  write_file(root_ / "beside", "1");
  for (const char* target : {"../../secret", "/etc/passwd", "../beside", "..", "../d/file", "sub/../../beside"}) {
    fs::remove_all(root_ / "d");
    write_file(root_ / "d/sub/file", "1");
    write_file(root_ / "d/file", "1");
    fs::create_symlink(target, root_ / "d/link");
    refused("d", "path_escape");
  }
  // Each step looks harmless: "up" is the top itself, and what comes after it leads out.
  fs::remove(root_ / "d/link");
  fs::create_symlink(".", root_ / "d/sub/up");
  fs::create_symlink("up/../..", root_ / "d/sub/link");
  refused("d", "path_escape");
  fs::remove(root_ / "d/sub/link");
  fs::create_symlink("nowhere/../../beside", root_ / "d/sub/link");
  refused("d", "path_escape");
  fs::remove(root_ / "d/sub/link");
  fs::create_symlink("up/../sub/file", root_ / "d/sub/link");
  const auto staged = stage(options("d"));
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(read_file(out_ / "copy/sub/link"), "1");
}

TEST(LinkForm, is_told_by_the_text) {
  EXPECT_EQ(link_form("a/b", 0), LinkForm::plain);
  EXPECT_EQ(link_form("./a//b/.", 0), LinkForm::plain);
  EXPECT_EQ(link_form("..", 0), LinkForm::leaves);
  EXPECT_EQ(link_form("..", 1), LinkForm::plain);
  EXPECT_EQ(link_form(".././../a", 1), LinkForm::leaves);
  EXPECT_EQ(link_form("../../a", 2), LinkForm::plain);
  EXPECT_EQ(link_form("a/..", 0), LinkForm::winding);
  EXPECT_EQ(link_form("../a/../b", 1), LinkForm::winding);
  EXPECT_EQ(link_form("/a", 9), LinkForm::leaves);
  EXPECT_EQ(link_form("...", 0), LinkForm::plain);
}

TEST_F(Stage, pipes_sockets_and_devices_are_refused) {
  fs::create_directories(root_ / "d");
  ASSERT_EQ(::mkfifo((root_ / "d/special").c_str(), 0600), 0);
  refused("d/special", "not_regular");  // and it does not wait for a writer
  refused("d", "not_regular");
  fs::remove(root_ / "d/special");

  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = root_ / "d/special";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  refused("d/special", "not_regular");
  refused("d", "not_regular");

  StageOptions device = options("null");  // there is one, whoever runs this
  device.root = "/dev";
  refused(device, "not_regular");
}

// ---- all or nothing --------------------------------------------------------------------------------------------

TEST_F(Stage, a_failure_deep_in_a_directory_leaves_nothing_and_keeps_what_was_there) {
  for (int i = 0; i < 20; i++) write_file(root_ / "d" / std::to_string(i) / "sealed/file", "new");
  for (int i = 0; i < 20; i++) ASSERT_EQ(::chmod((root_ / "d" / std::to_string(i) / "sealed").c_str(), 0555), 0);
  ASSERT_EQ(::mkfifo((root_ / "d/7/pipe").c_str(), 0600), 0);
  refused("d", "not_regular");
  write_file(out_ / "copy/old", "old");
  StageOptions wanted = options("d");
  wanted.replace = true;
  refused(wanted, "not_regular");
  EXPECT_EQ(read_file(out_ / "copy/old"), "old");
}

TEST_F(Stage, what_cannot_be_read_is_an_error) {
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;
  write_file(root_ / "d/file", "1");
  write_file(root_ / "d/locked", "1");
  ASSERT_EQ(::chmod((root_ / "d/locked").c_str(), 0), 0);
  if (root) {  // which reads everything
    for (const fs::path& path : {top_, root_, out_}) ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  refused("d", "source_unreadable");
  refused("d/locked", "source_unreadable");
  EXPECT_TRUE(stage(options("d/file")));
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
}

TEST_F(Stage, an_interrupted_copy_leaves_nothing) {
  for (int i = 0; i < 20; i++) write_file(root_ / "d" / std::to_string(i), "1");
  StageOptions wanted = options("d");
  int asked = 0;
  wanted.interrupted = [&] { return ++asked > 10; };
  refused(wanted, "interrupted");
  EXPECT_GT(asked, 10);
}

TEST_F(Stage, what_exists_is_kept_unless_it_is_to_be_replaced) {
  write_file(root_ / "file", "new");
  write_file(root_ / "dir/file", "new");
  fs::create_symlink("nowhere", out_ / "dangling");
  write_file(out_ / "file", "old");
  write_file(out_ / "full/old", "old");
  ASSERT_EQ(::chmod((out_ / "full").c_str(), 0555), 0);
  for (const char* name : {"file", "full", "dangling"})
    for (const char* source : {"file", "dir"}) {
      StageOptions wanted = options(source);
      wanted.destination = out_ / name;
      refused(wanted, "destination_exists");
      wanted.replace = true;
      if (std::string(name) + source == "fullfile") {
        refused(wanted, "destination_exists");
        continue;
      }  // no tree goes for a file
      const auto staged = stage(wanted);
      ASSERT_TRUE(staged) << staged.error().message;
      EXPECT_EQ(staged->left_over, "");
      EXPECT_EQ(read_file(source == std::string("dir") ? out_ / name / "file" : out_ / name), "new");
      EXPECT_FALSE(fs::exists(out_ / name / "old"));
      EXPECT_EQ(entries_out(), 3U);
    }
  StageOptions fresh = options("dir");
  fresh.replace = true;  // and there is nothing yet
  EXPECT_TRUE(stage(fresh));
  EXPECT_FALSE(fs::exists(out_ / "nowhere"));
}

TEST_F(Stage, a_destination_must_have_a_name_and_a_directory) {
  write_file(root_ / "file", "1");
  StageOptions wanted = options("file");
  for (const std::string& name :
       {std::string(""), std::string("/"), std::string("."), std::string("out/.."), std::string("x\0y", 3)}) {
    wanted.destination = name;
    refused(wanted, "usage");
  }
  wanted.destination = out_ / "no/such/copy";
  refused(wanted, "no_such_directory");
  wanted.destination = top_ / "secret/copy";
  refused(wanted, "no_such_directory");
  wanted.destination = out_.string() + "/copy///";
  EXPECT_TRUE(stage(wanted));
  wanted.root = top_ / "nothing";
  refused(wanted, "no_such_root");
  refused("nothing", "no_such_source");
  refused("file/x", "no_such_source");
}

TEST_F(Stage, a_copy_into_its_own_source_is_refused) {
  write_file(root_ / "a/file", "1");
  StageOptions wanted = options(".");
  wanted.destination = root_ / "a/copy";
  refused(wanted, "destination_in_source");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "a"), fs::directory_iterator()), 1);
}

TEST_F(Stage, limits_hold_to_the_byte_and_the_entry) {
  write_file(root_ / "d/a", "12345");
  write_file(root_ / "d/b", "12345");
  fs::create_symlink("a", root_ / "d/c");
  StageOptions wanted = options("d");
  wanted.replace = true;
  wanted.max_bytes = 10;
  wanted.max_entries = 4;
  EXPECT_TRUE(stage(wanted));
  wanted.max_bytes = 9;
  refused(wanted, "too_large");
  wanted.max_bytes = 10;
  wanted.max_entries = 3;
  refused(wanted, "too_large");
}

// In a child: a filter cannot be taken off again.
int stage_without_openat2(const StageOptions& wanted, unsigned error) {
  const pid_t child = ::fork();
  if (child == 0) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      ::_exit(2);
    const auto staged = stage(wanted);
    ::_exit(!staged && staged.error().code == "no_openat2" && !staged.error().hint.empty() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(Stage, without_openat2_nothing_is_copied_some_other_way) {
  write_file(root_ / "file", "1");
  EXPECT_EQ(stage_without_openat2(options("file"), ENOSYS), 0);
  EXPECT_EQ(stage_without_openat2(options("file"), EPERM), 0);
  EXPECT_EQ(entries_out(), 0U);
}

}  // namespace
}  // namespace sbpf::agent
