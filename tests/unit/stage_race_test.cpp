// SPDX-License-Identifier: Apache-2.0
// Somebody swaps what a name means while it is staged (BF-3). The control copies by the path, and must leak: else the
// swapping proves nothing.
#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "tests/unit/stage_dir.h"

namespace sbpf::agent {
namespace {

constexpr int kSwaps = 10'000;
constexpr auto kLimit = std::chrono::seconds(90);  // it takes about one; a loaded machine is slow

// Exchanges two names as fast as it can, until it is destroyed.
class Swapper {
 public:
  Swapper(const fs::path& one, const fs::path& other)
      : thread_([this, one, other] {
          while (!stop_) {
            if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) != 0) failed_ = true;
            swaps_++;
          }
        }) {}
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }
  int swaps() const { return swaps_; }
  bool failed() const { return failed_; }

 private:
  std::atomic<bool> stop_ = false, failed_ = false;
  std::atomic<int> swaps_ = 0;
  std::thread thread_;
};

struct Outcome {
  int copied = 0, refused = 0, leaked = 0, other = 0, control_leaks = 0;
  std::string last_other;
  bool enough(const Swapper& swapper) const {
    return swapper.swaps() >= kSwaps && copied > 0 && refused > 0 && control_leaks > 0;
  }
};

class StageRace : public Stage {
 protected:
  // Stages `source` again and again while `one` and `other` are swapped; `inside` is where a secret would show in the
  // copy. Each round also copies `control` by its path. Goes on until everything was seen, the attack itself included.
  Outcome race(const std::string& source, const std::string& inside, const std::string& control, const fs::path& one,
               const fs::path& other) {
    Outcome outcome;
    const Swapper swapper(one, other);
    const auto end = std::chrono::steady_clock::now() + kLimit;
    StageOptions wanted = options(source);
    wanted.replace = true;
    while (!outcome.enough(swapper) && std::chrono::steady_clock::now() < end) {
      const auto staged = stage(wanted);
      if (staged) {
        outcome.copied++;
        if (read_file(inside.empty() ? out_ / "copy" : out_ / "copy" / inside) != "public") outcome.leaked++;
      } else if (staged.error().code == "path_escape") {
        outcome.refused++;
      } else {
        outcome.other++;
        outcome.last_other = staged.error().code.str() + ": " + staged.error().message;
      }
      if (read_file(root_ / control) == "SECRET") outcome.control_leaks++;
    }
    EXPECT_FALSE(swapper.failed());
    EXPECT_GE(swapper.swaps(), kSwaps);
    return outcome;
  }
  static void expect_no_leak(const Outcome& outcome) {
    EXPECT_EQ(outcome.leaked, 0);
    EXPECT_EQ(outcome.other, 0) << outcome.last_other;
    EXPECT_GT(outcome.control_leaks, 0) << "the attack did not work: nothing is proven";
    EXPECT_GT(outcome.copied, 0);
    EXPECT_GT(outcome.refused, 0);
    std::printf("copied %d, refused %d, leaked %d; the control leaked %d\n", outcome.copied, outcome.refused,
                outcome.leaked, outcome.control_leaks);
  }
};

TEST_F(StageRace, a_file_swapped_for_a_link_to_a_secret_never_leaks) {
  write_file(root_ / "name", "public");
  fs::create_symlink("../secret", root_ / "other");
  expect_no_leak(race("name", "", "name", root_ / "name", root_ / "other"));
}

TEST_F(StageRace, a_directory_on_the_way_swapped_for_a_link_never_leaks) {
  write_file(root_ / "d/name", "public");
  fs::create_symlink("../secrets", root_ / "other");
  expect_no_leak(race("d/name", "", "d/name", root_ / "d", root_ / "other"));
}

TEST_F(StageRace, a_file_inside_a_copied_directory_never_leaks) {
  write_file(root_ / "d/name", "public");
  fs::create_symlink("../../secret", root_ / "other");
  expect_no_leak(race("d", "name", "d/name", root_ / "d/name", root_ / "other"));
}

TEST_F(StageRace, a_directory_inside_a_copied_directory_never_leaks) {
  write_file(root_ / "d/sub/name", "public");
  fs::create_symlink("../../secrets", root_ / "other");
  expect_no_leak(race("d", "sub/name", "d/sub/name", root_ / "d/sub", root_ / "other"));
}

// While ".." of it is looked up, a directory moves out of the root. The window is too small for a control.
TEST_F(StageRace, a_directory_that_is_moved_out_of_the_root_never_leaks_what_is_above_it) {
  fs::create_directories(root_ / "d/sub");
  fs::create_directories(top_ / "sub");
  write_file(root_ / "d/name", "public");
  write_file(top_ / "name", "SECRET");
  const Swapper swapper(root_ / "d/sub", top_ / "sub");
  const auto end = std::chrono::steady_clock::now() + kLimit;
  StageOptions wanted = options("d/sub/../name");
  wanted.replace = true;
  int copied = 0;
  while ((swapper.swaps() < kSwaps || copied == 0) && std::chrono::steady_clock::now() < end) {
    const auto staged = stage(wanted);
    if (!staged) continue;
    copied++;
    ASSERT_EQ(read_file(out_ / "copy"), "public");
  }
  EXPECT_FALSE(swapper.failed());
  EXPECT_GT(copied, 0);
}

}  // namespace
}  // namespace sbpf::agent
