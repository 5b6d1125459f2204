// SPDX-License-Identifier: Apache-2.0
#include "base/error_code.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace sbpf {
namespace {

struct Listed {
  std::string_view text;
  int exit_code;
  unsigned http_status;
};

constexpr Listed kListed[] = {
#define SBPF_ERROR(code, exit_code, http_status) {#code, exit_code, http_status},
#include "base/errors.def"
#undef SBPF_ERROR
};

TEST(ErrorCode, each_is_in_the_list_once_and_is_found_by_its_text) {
  std::set<std::string_view> seen;
  for (const Listed& listed : kListed) {
    EXPECT_TRUE(seen.insert(listed.text).second) << listed.text << " is there twice";
    for (const char c : listed.text) EXPECT_TRUE(std::islower(c) || std::isdigit(c) || c == '_') << listed.text;
    const ErrorCode code = ErrorCode::relayed(listed.text);
    EXPECT_EQ(code.text(), listed.text);
    EXPECT_EQ(code.exit_code(), listed.exit_code) << listed.text;
    EXPECT_EQ(code.http_status(), listed.http_status) << listed.text;
  }
}

// sbpfd's own configuration is asked of the host's owner, and nobody can ask the API for another.
bool is_of_sbpfd(std::string_view code) {
  return code == "invalid_config" || code == "no_config" || code == "no_group" || code == "no_sbpf";
}

TEST(ErrorCode, commands_and_the_api_agree_on_who_is_to_change_something) {
  for (const Listed& listed : kListed) {
    const bool asks_wrongly = listed.exit_code == 2 || listed.exit_code == 126 || listed.exit_code == 127;
    EXPECT_TRUE(asks_wrongly || listed.exit_code == 125) << listed.text;
    EXPECT_TRUE(listed.http_status >= 400 && listed.http_status < 600) << listed.text;
    EXPECT_TRUE(listed.http_status != 400 || asks_wrongly) << listed.text;
    EXPECT_TRUE(listed.http_status < 500 || !asks_wrongly || is_of_sbpfd(listed.text)) << listed.text;
  }
}

TEST(ErrorCode, what_the_list_lacks_is_unknown_and_nobodys_mistake) {
  for (const char* text : {"", "new_code", "PIN", "pin "}) {
    const ErrorCode code = ErrorCode::relayed(text);
    EXPECT_EQ(code.text(), "unknown") << text;
    EXPECT_EQ(code.exit_code(), 125) << text;
    EXPECT_EQ(code.http_status(), 500u) << text;
  }
  EXPECT_TRUE(ErrorCode() == "unknown");
}

TEST(ErrorCode, what_is_promised) {
  const auto status = [](const char* text) { return ErrorCode::relayed(text).http_status(); };
  EXPECT_EQ(status("no_such_sandbox"), 404u);
  EXPECT_EQ(status("invalid_policy"), 400u);
  EXPECT_EQ(status("busy"), 409u);
  EXPECT_EQ(status("time"), 504u);
  EXPECT_TRUE(ErrorCode("busy") == "busy");
  EXPECT_FALSE(ErrorCode("busy") == "time");
}

}  // namespace
}  // namespace sbpf
