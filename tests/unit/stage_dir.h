// SPDX-License-Identifier: Apache-2.0
// What the tests of `stage` share: a folder of their own, with a tree, a secret beside it, and a place for copies.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "agent/stage/stage.h"

namespace sbpf::agent {

namespace fs = std::filesystem;

inline void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Stage : public testing::Test {
 protected:
  void SetUp() override {
    // In memory where there is some: syncing costs nothing there.
    std::string made =
        (::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path()) / "sbpf-stage-test-XXXXXX";
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    top_ = made;
    root_ = top_ / "root";
    out_ = top_ / "out";
    fs::create_directories(root_);
    fs::create_directories(out_);
    write_file(top_ / "secret", "SECRET");
    write_file(top_ / "secrets/name", "SECRET");
  }
  void TearDown() override {
    if (top_.empty()) return;
    std::error_code ignored;
    for (fs::recursive_directory_iterator entry(top_, ignored), end; entry != end; entry.increment(ignored))
      if (fs::is_directory(entry->symlink_status(ignored)))
        fs::permissions(entry->path(), fs::perms::owner_all, ignored);
    fs::remove_all(top_, ignored);
  }

  StageOptions options(const std::string& source) const {
    StageOptions options;
    options.root = root_;
    options.source = source;
    options.destination = out_ / "copy";
    return options;
  }
  // Everything in the place for copies, also what is hidden.
  std::size_t entries_out() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(out_), fs::directory_iterator()));
  }
  // It fails so, and nothing is written.
  void refused(const StageOptions& wanted, const std::string& code) {
    const std::size_t before = entries_out();
    const auto staged = stage(wanted);
    ASSERT_FALSE(staged) << wanted.source;
    EXPECT_EQ(staged.error().code.text(), code) << staged.error().message;
    EXPECT_EQ(entries_out(), before) << wanted.source;
  }
  void refused(const std::string& source, const std::string& code) { refused(options(source), code); }

  fs::path top_, root_, out_;
};

}  // namespace sbpf::agent
