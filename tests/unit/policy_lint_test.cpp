// SPDX-License-Identifier: Apache-2.0
// What looks like a key in a policy's text is advised against, and what does not is left alone.
#include "policy/lint.h"

#include <gtest/gtest.h>

#include "tests/unit/images.h"

namespace sbpf::policy {
namespace {

std::vector<Advice> advice(const std::string& name, const std::string& value) {
  return lint(policy_of("process: {env: {set: {" + name + ": \"" + value + "\"}}}\n"));
}

TEST(Lint, a_value_that_begins_like_a_key_is_told) {
  for (const char* value : {"sk-ant-api03-abcdefghijklmnop", "ghp_16CharactersAtLeast", "AKIAIOSFODNN7EXAMPLE",
                            "-----BEGIN PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9.e30.abc"}) {
    const auto found = advice("SETTING", value);
    ASSERT_EQ(found.size(), 1u) << value;
    EXPECT_EQ(found.front().key, "process.env.set.SETTING");
    EXPECT_EQ(found.front().message.find(value), std::string::npos) << "it is told without the value";
    EXPECT_NE(found.front().hint.find("process.secrets"), std::string::npos);
  }
}

TEST(Lint, a_random_value_under_the_name_of_a_key_is_told) {
  for (const char* name : {"API_KEY", "TOKEN", "DB_PASSWORD", "CLIENT_SECRET"})
    EXPECT_EQ(advice(name, "a8f0c1d2e3b4a5968778").size(), 1u) << name;
}

TEST(Lint, what_is_none_is_left_alone) {
  const std::pair<const char*, const char*> fine[] = {
      {"API_KEY", "none"},  // a word
      {"API_KEY_FILE", "/run/sbpf/secrets/API_KEY"},
      {"TOKEN", "/run/secrets/token-1-of-2"},   // a path
      {"PASSWORD", "correct horse battery 4"},  // a sentence
      {"MONKEY", "a8f0c1d2e3b4a5968778"},       // no name of a key
      {"COMMIT", "a8f0c1d2e3b4a59687780011223344556677889a"},
      {"SETTING", "sk-short"},
  };
  for (const auto& [name, value] : fine) EXPECT_TRUE(advice(name, value).empty()) << name << "=" << value;
  EXPECT_TRUE(lint(policy_of("network: none\n")).empty());
}

TEST(Lint, the_profiles_need_no_advice) {
  for (const std::string& name : built_in_profile_names()) {
    const auto policy = parse(built_in_profile(name).value(), name, built_in_profile);
    ASSERT_TRUE(policy) << name;
    EXPECT_TRUE(lint(*policy).empty()) << name;
  }
}

}  // namespace
}  // namespace sbpf::policy
