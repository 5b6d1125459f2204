// SPDX-License-Identifier: Apache-2.0
#include "cli/common.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/nearest.h"

namespace sbpf::cli {
namespace {

Error error_of(ErrorCode code) { return {code, "message", "hint", 0, "", false}; }

TEST(ExitCode, tells_usage_the_shell_codes_and_sbpfs_own_failure_apart) {
  const Session session;
  for (const ErrorCode code : std::initializer_list<ErrorCode>{
           "usage", "invalid_policy", "no_such_policy", "too_many_rules", "path_escape", "not_regular", "fs_too_deep",
           "fs_conflict", "cgroup_not_found", "host_names_unenforceable"})
    EXPECT_EQ(exit_code_of(error_of(code), session), 2) << code.text();
  EXPECT_EQ(exit_code_of(error_of("command_not_executable"), session), 126);
  EXPECT_EQ(exit_code_of(error_of("command_not_found"), session), 127);
  for (const ErrorCode code : std::initializer_list<ErrorCode>{"no_btf", "missing_lsm", "publish_failed",
                                                               "no_such_sandbox", "no_openat2", "unknown"})
    EXPECT_EQ(exit_code_of(error_of(code), session), 125) << code.text();
}

TEST(ExitCode, what_is_required_and_cannot_be_told_is_less) {
  Session session;
  session.less_if = "*";
  EXPECT_EQ(exit_code_of(error_of("pin"), session), 3);
  EXPECT_EQ(exit_code_of(error_of("usage"), session), 2);
  session.less_if = "no_such_sandbox";
  EXPECT_EQ(exit_code_of(error_of("no_such_sandbox"), session), 3);
  EXPECT_EQ(exit_code_of(error_of("pin"), session), 125);
}

TEST(ErrorJson, has_the_promised_fields_on_one_line) {
  Error error{"no_btf", "no\nBTF \xff", "rebuild", 2, "network", true};
  const std::string line = error_json(error);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["error"]["code"], "no_btf");
  EXPECT_EQ(json["error"]["hint"], "rebuild");
  EXPECT_EQ(json["error"]["domain"], "network");
  EXPECT_EQ(json["error"]["retryable"], true);
  EXPECT_TRUE(json["error"].contains("message"));
}

TEST(Nearest, finds_the_typo_and_not_the_stranger) {
  const std::array<std::string, 4> words = {"--policy", "--timeout", "--json", "--status-fd"};
  EXPECT_EQ(nearest("--polcy", words), "--policy");
  EXPECT_EQ(nearest("--polciy", words), "--policy");
  EXPECT_EQ(nearest("--time", words), "--timeout");
  EXPECT_EQ(nearest("--jsn", words), "--json");
  EXPECT_EQ(nearest("rnu", std::vector<std::string>{"run", "env"}), "run");
  EXPECT_EQ(nearest("--whatever", words), "");
  EXPECT_EQ(nearest("", words), "");
}

TEST(LoadPolicy, an_unknown_name_is_told_with_the_nearest) {
  const auto loaded = load_policy("no-netwrk");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code.text(), "no_such_policy");
  EXPECT_EQ(loaded.error().hint, "did you mean \"no-network\"?");
}

TEST(LoadPolicy, a_missing_file_and_a_directory_are_told_with_their_path) {
  for (const char* path : {"/nonexistent/policy.yaml", "/"}) {
    const auto loaded = load_policy(path);
    ASSERT_FALSE(loaded) << path;
    EXPECT_EQ(loaded.error().code.text(), "no_such_policy");
    EXPECT_NE(loaded.error().message.find(path), std::string::npos);
    EXPECT_NE(loaded.error().sys_errno, 0);
  }
}

TEST(LoadPolicy, the_strict_default_of_run_is_built_in_and_enforces) {
  const auto loaded = load_policy("no-network");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(policy_origin("no-network"), "built-in");
  EXPECT_EQ(loaded->policy.mode, policy::Mode::enforce);
  EXPECT_FALSE(loaded->policy.network.dangerously_allow_all);
  EXPECT_TRUE(loaded->policy.network.connect.empty());
}

}  // namespace
}  // namespace sbpf::cli
