// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own, which is removed after it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace sbpf {

class InTempDir : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (std::filesystem::temp_directory_path() / "sbpf-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    top_ = made;
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  std::filesystem::path top_;
};

}  // namespace sbpf
