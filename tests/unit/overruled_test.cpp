// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/hooks.h"
#include "agent/verify/overruling_programs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using sbpf::agent::hook_called_by;
using sbpf::agent::Lost;
using sbpf::agent::patched_functions;

// As the kernel lists live patches: PATCH/OBJECT/FUNCTION,POSITION, and files beside them.
class Patches : public ::testing::Test {
 protected:
  Patches() { root_ = ::mkdtemp(pattern_); }
  ~Patches() override { fs::remove_all(root_); }
  void patch(const std::string& path) const { fs::create_directories(root_ + "/" + path); }

  char pattern_[32] = "/tmp/sbpf-patches-XXXXXX";
  std::string root_;
};

TEST_F(Patches, WithoutAnyNothingIsReplaced) {
  EXPECT_TRUE(patched_functions(root_).value().empty());
  EXPECT_TRUE(patched_functions(root_ + "/none").value().empty());
}

TEST_F(Patches, OneOfAFunctionThatCallsAHookIsNamed) {
  patch("fix_1/vmlinux/security_bpf,1");
  const std::vector<Lost> lost = patched_functions(root_).value();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].what, "overruled");
  EXPECT_EQ(lost[0].reason, "live patch fix_1 replaces security_bpf, which calls sbpf's hook");
}

TEST_F(Patches, OneOfOtherFunctionsIsNot) {
  patch("fix_1/vmlinux/security_bpf_prog_alloc_of_another,1");
  patch("fix_1/vmlinux/tcp_v4_connect,1");
  patch("security_bpf,1/vmlinux");
  EXPECT_TRUE(patched_functions(root_).value().empty());
}

TEST_F(Patches, EachIsNamed) {
  patch("fix_1/vmlinux/security_bpf,1");
  patch("fix_2/vmlinux/security_file_open,1");
  EXPECT_EQ(patched_functions(root_).value().size(), 2U);
}

TEST_F(Patches, WhatCannotBeReadIsNotKnown) {
  std::ofstream(root_ + "/file") << "x";
  EXPECT_FALSE(patched_functions(root_ + "/file"));
  EXPECT_FALSE(patched_functions(root_ + "/hidden/none"));
}

TEST(Callers, AreCalledAsTheKernelHasThem) {
  EXPECT_EQ(hook_called_by("security_file_open"), SBPF_HOOK_file_open);
  EXPECT_EQ(hook_called_by("security_create_user_ns"), SBPF_HOOK_userns_create);
  EXPECT_EQ(hook_called_by("security_bprm_check"), SBPF_HOOK_bprm_check_security);
  EXPECT_EQ(hook_called_by("security_inode_listxattr"), std::nullopt);
  EXPECT_EQ(hook_called_by("file_open"), std::nullopt);
}

}  // namespace
