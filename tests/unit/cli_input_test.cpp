// SPDX-License-Identifier: Apache-2.0
#include "cli/input.h"

#include <gtest/gtest.h>

namespace sbpf::cli {
namespace {

using std::chrono::milliseconds;

TEST(AddressPort, reads_v4_and_v6_and_prints_them_back) {
  for (const char* text : {"192.0.2.1:443", "0.0.0.0:0", "127.0.0.1:65535", "[::1]:80", "[2001:db8::1]:53"}) {
    const auto parsed = parse_address_port(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
}

TEST(AddressPort, mapped_v4_is_v4) {
  const auto parsed = parse_address_port("[::ffff:192.0.2.1]:443");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(to_string(*parsed), "192.0.2.1:443");
}

TEST(AddressPort, refuses_what_is_not_an_address_and_a_port) {
  for (const char* text : {"", ":", "192.0.2.1", "192.0.2.1:", ":443", "::1:80", "[192.0.2.1]:443", "[::1]", "[::1]80",
                           "192.0.2.1:65536", "192.0.2.1:-1", "192.0.2.1:+1", "192.0.2.1: 1", "192.0.2.1:80x",
                           "192.0.2.1:99999999999999999999", "example.org:443", "192.0.2.0/24:443", "[]:1"}) {
    const auto parsed = parse_address_port(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code.text(), "usage") << text;
    EXPECT_FALSE(parsed.error().hint.empty()) << text;
  }
}

TEST(FileQuestion, reads_operations_and_access) {
  using policy::FsOperation;
  EXPECT_EQ(parse_file_question("open", "/a", "")->operation, FsOperation::read);
  EXPECT_EQ(parse_file_question("open", "/a", "")->access, "r");
  EXPECT_EQ(parse_file_question("open", "/a", "w")->operation, FsOperation::write);
  EXPECT_EQ(parse_file_question("open", "/a", "rw")->operation, FsOperation::write);
  EXPECT_EQ(parse_file_question("create", "/a", "")->operation, FsOperation::create);
  EXPECT_EQ(parse_file_question("delete", "/a", "")->operation, FsOperation::remove);
  EXPECT_EQ(parse_file_question("rename", "/a", "")->operation, FsOperation::rename);
  EXPECT_TRUE(is_file_operation("open"));
  EXPECT_FALSE(is_file_operation("connect"));
}

TEST(FileQuestion, refuses_other_words_and_relative_paths) {
  for (const auto& [operation, path, access] :
       {std::tuple("open", "/a", "x"), std::tuple("open", "a", "r"), std::tuple("open", "", ""),
        std::tuple("delete", "/a", "w"), std::tuple("chmod", "/a", "")}) {
    const auto question = parse_file_question(operation, path, access);
    ASSERT_FALSE(question) << operation << " " << path;
    EXPECT_EQ(question.error().code.text(), "usage");
    EXPECT_FALSE(question.error().hint.empty());
  }
}

TEST(Question, protocol_follows_the_operation_unless_given) {
  EXPECT_EQ(parse_question("connect", "192.0.2.1:1", "")->proto, SBPF_PROTO_TCP);
  EXPECT_EQ(parse_question("bind", "192.0.2.1:1", "")->proto, SBPF_PROTO_TCP);
  EXPECT_EQ(parse_question("send", "192.0.2.1:1", "")->proto, SBPF_PROTO_UDP);
  EXPECT_EQ(parse_question("send", "192.0.2.1:1", "tcp")->proto, SBPF_PROTO_TCP);
}

TEST(Question, send_is_judged_by_the_rules_of_connect) {
  EXPECT_EQ(parse_question("send", "192.0.2.1:1", "")->kind, SBPF_RULE_CONNECT);
  EXPECT_EQ(parse_question("bind", "192.0.2.1:1", "")->kind, SBPF_RULE_BIND);
}

TEST(Question, port_zero_is_for_bind_only) {
  EXPECT_EQ(parse_name_port("a.example:443")->name, "a.example");
  EXPECT_EQ(parse_name_port("a.example:443")->port, 443);
  for (const char* text :
       {"a.example", "a.example:0", "a.example:65536", "a.example:x", "*.example:1", "10.0.0.1:1", "[::1]:1", ":1", ""})
    EXPECT_FALSE(parse_name_port(text)) << text;
  EXPECT_TRUE(parse_question("bind", "127.0.0.1:0", ""));
  EXPECT_FALSE(parse_question("connect", "127.0.0.1:0", ""));
  EXPECT_FALSE(parse_question("send", "127.0.0.1:0", ""));
}

TEST(Question, unknown_words_are_refused) {
  EXPECT_FALSE(parse_question("listen", "192.0.2.1:1", ""));
  EXPECT_FALSE(parse_question("connect", "192.0.2.1:1", "sctp"));
}

TEST(Timeout, units) {
  EXPECT_EQ(parse_timeout("90").value(), milliseconds(90'000));
  EXPECT_EQ(parse_timeout("500ms").value(), milliseconds(500));
  EXPECT_EQ(parse_timeout("90s").value(), milliseconds(90'000));
  EXPECT_EQ(parse_timeout("10m").value(), milliseconds(600'000));
  EXPECT_EQ(parse_timeout("2h").value(), milliseconds(7'200'000));
  EXPECT_EQ(parse_timeout("1d").value(), milliseconds(86'400'000));
  EXPECT_EQ(parse_timeout("1.5s").value(), milliseconds(1500));
  EXPECT_EQ(parse_timeout("0.25m").value(), milliseconds(15'000));
}

TEST(Timeout, refuses_what_is_no_duration) {
  for (const char* text : {"",
                           "s",
                           "ms",
                           "-1s",
                           "1 s",
                           "1x",
                           "1s2",
                           "1.s",
                           ".5s",
                           "1..5s",
                           "1.2.3s",
                           "0",
                           "0s",
                           "0.0001s",
                           "366d",
                           "99999999999999999999s",
                           "18446744073709551615d",
                           "1e3",
                           "0x10",
                           "inf",
                           "1.1234567890s"})
    EXPECT_FALSE(parse_timeout(text)) << text;
}

TEST(Timeout, the_earlier_one_holds) {
  EXPECT_EQ(earlier(std::nullopt, std::nullopt), std::nullopt);
  EXPECT_EQ(earlier(milliseconds(5), std::nullopt), milliseconds(5));
  EXPECT_EQ(earlier(std::nullopt, milliseconds(7)), milliseconds(7));
  EXPECT_EQ(earlier(milliseconds(5), milliseconds(7)), milliseconds(5));
  EXPECT_EQ(earlier(milliseconds(7), milliseconds(5)), milliseconds(5));
}

policy::Env env(std::vector<std::string> allow, std::map<std::string, std::string> set = {}) {
  policy::Env result;
  result.allow = std::move(allow);
  result.set = std::move(set);
  return result;
}

std::vector<std::string> built(const policy::Env& policy, const std::vector<std::string>& inherited,
                               const std::vector<std::string>& given = {}) {
  return build_env(policy, inherited, given, inherited).value();
}

using Strings = std::vector<std::string>;

TEST(Environment, only_what_the_policy_allows_is_inherited) {
  EXPECT_EQ(built(env({"PATH"}), {"PATH=/bin", "OPENAI_API_KEY=canary", "PATHX=1", "path=2"}), Strings{"PATH=/bin"});
  EXPECT_EQ(built(env({}), {"PATH=/bin"}), Strings{});
}

TEST(Environment, a_star_is_a_prefix_and_only_at_the_end) {
  EXPECT_EQ(built(env({"LC_*"}), {"LC_ALL=C", "LC_=x", "XLC_ALL=1", "LC=2"}), (Strings{"LC_=x", "LC_ALL=C"}));
  EXPECT_EQ(built(env({"*_KEY", "A*B"}), {"API_KEY=canary", "AxB=1"}), Strings{});
}

TEST(Environment, policy_sets_over_inherited_and_the_command_line_over_both) {
  EXPECT_EQ(
      built(env({"A", "B", "C"}, {{"B", "set"}, {"C", "set"}}), {"A=old", "B=old", "C=old"}, {"C=given", "D=new"}),
      (Strings{"A=old", "B=set", "C=given", "D=new"}));
  EXPECT_EQ(built(env({}), {}, {"A=1", "A=2"}), Strings{"A=2"});
}

TEST(Environment, values_are_kept_byte_for_byte) {
  EXPECT_EQ(built(env({"A"}), {"A=a=b=c"}, {"B=", "C={}", "D=x\ny"}), (Strings{"A=a=b=c", "B=", "C={}", "D=x\ny"}));
}

TEST(Environment, the_first_of_duplicates_counts_as_for_getenv) {
  EXPECT_EQ(built(env({"A"}), {"A=first", "A=second"}), Strings{"A=first"});
}

TEST(Environment, entries_without_a_name_are_dropped_or_refused) {
  EXPECT_EQ(built(env({"*"}), {"=x", "NOEQUALS", "A=1"}), Strings{"A=1"});
  const Strings none;
  for (const char* bad : {"NAME", "=value", ""}) {
    const Strings given = {bad};
    const auto result = build_env(env({}), none, given, none);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().code.text(), "usage");
  }
}

TEST(Environment, a_name_alone_takes_the_value_over_whatever_the_policy_allows) {
  EXPECT_EQ(built(env({}), {"TOKEN=a=b", "TOKEN=second", "TOKENS=x"}, {"TOKEN"}), Strings{"TOKEN=a=b"});
  EXPECT_EQ(built(env({}, {{"TOKEN", "set"}}), {"TOKEN="}, {"TOKEN"}), Strings{"TOKEN="});
  const Strings without = {"TOKENS=x"}, given = {"TOKEN"};
  EXPECT_EQ(build_env(env({"*"}), without, given, without).error().code.text(), "usage");
}

TEST(Environment, a_users_home_and_name_are_those_of_the_host) {
  const Strings root = of_user({"HOME=/home/me", "USER=me", "LOGNAME=me", "LANG=C", "HOMES=x"}, 0);
  EXPECT_EQ(root, (Strings{"LANG=C", "HOMES=x", "HOME=/root", "USER=root", "LOGNAME=root"}));
  EXPECT_EQ(of_user({"HOME=/root", "USER=root", "LOGNAME=root"}, 3999999999), Strings{"HOME=/"});
}

TEST(Environment, a_refused_value_is_not_echoed) {
  const Strings none, given = {"hunter2"};
  EXPECT_EQ(build_env(env({}), none, given, none).error().message.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace sbpf::cli
