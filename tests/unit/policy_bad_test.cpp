// SPDX-License-Identifier: Apache-2.0
// The corpus of wrong policies: policy_bad/*.yaml. Each file says at its end what must be found, all of it, in order:
//   # expect: LINE:COLUMN KEY CODE          ("-" where there is no key)
//   # expect: profile NAME:LINE:COLUMN KEY CODE
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "policy/policy.h"

namespace sbpf::policy {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> corpus() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(SBPF_SOURCE_DIR) / "tests/unit/policy_bad"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> expected(const std::string& text) {
  constexpr std::string_view kMark = "# expect: ";
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(kMark)) lines.push_back(line.substr(kMark.size()));
  return lines;
}

class PolicyBad : public testing::TestWithParam<fs::path> {};

TEST_P(PolicyBad, is_refused_with_exactly_these_diagnostics) {
  const std::string text = contents(GetParam());
  const auto policy = parse(text, "", built_in_profile);
  ASSERT_FALSE(policy);
  std::vector<std::string> found;
  for (const Diagnostic& d : policy.error()) {
    found.push_back((d.where.file.empty() ? "" : d.where.file + ":") + std::to_string(d.where.line) + ":" +
                    std::to_string(d.where.column) + " " + (d.key.empty() ? "-" : d.key) + " " + d.code);
    EXPECT_FALSE(d.message.empty());
    EXPECT_FALSE(d.hint.empty()) << found.back();
    for (const std::string& shown : {d.message, d.key, d.hint})
      EXPECT_TRUE(std::none_of(shown.begin(), shown.end(), [](char c) { return c >= 0 && (c < 0x20 || c == 0x7f); }));
  }
  EXPECT_EQ(found, expected(text)) << format(policy.error());
}

INSTANTIATE_TEST_SUITE_P(corpus, PolicyBad, testing::ValuesIn(corpus()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(PolicyBadText, larger_than_a_mebibyte) {
  const std::string text = "version: 1\nname: big\n#" + std::string(1 << 20, 'x');
  EXPECT_EQ(parse(text, "f", nullptr).error()[0].code, "too_large");
}

TEST(PolicyBadText, merged_policy_larger_than_a_mebibyte) {
  std::string set;
  for (int i = 0; i < 9; ++i) set += "V" + std::to_string(i) + ": \"" + std::string(100'000, 'x') + "\", ";
  const auto source = [&](std::string_view name) -> std::optional<std::string> {
    std::string body = "version: 1\nname: p\nprocess: {env: {set: {" + set + "}}}\n";
    for (char& c : body) c = c == 'V' ? name[0] : c;
    return body;
  };
  EXPECT_TRUE(parse("version: 1\nname: n\nextends: [A]\n", "f", source));
  EXPECT_EQ(parse("version: 1\nname: n\nextends: [A, B]\n", "f", source).error()[0].code, "too_large");
}

TEST(PolicyBadText, bytes_that_are_no_text) {
  for (const std::string_view bytes : {"\x80", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
                                       "\x04", "\x1b", "\x7f", "\xc2\x80", "\xef\xbf\xbe"}) {
    const auto policy = parse("version: 1\nname: x # " + std::string(bytes) + "\n", "f", nullptr);
    ASSERT_FALSE(policy) << testing::PrintToString(bytes);
    EXPECT_EQ(policy.error()[0].code, "not_text");
    EXPECT_EQ(policy.error()[0].where.line, 2);
    EXPECT_EQ(policy.error()[0].where.column, 11);
  }
  EXPECT_EQ(parse(std::string_view("version: 1\0\nname: x\n", 20), "f", nullptr).error()[0].code, "not_text");
}

TEST(PolicyBadText, deep_nesting) {
  EXPECT_EQ(parse(std::string(100, '['), "f", nullptr).error()[0].code, "too_deep");
  EXPECT_EQ(parse(std::string(1 << 20, '['), "f", nullptr).error()[0].code, "too_deep");
  EXPECT_EQ(parse(std::string(100'000, '{'), "f", nullptr).error()[0].code, "too_deep");
}

TEST(PolicyBadText, at_most_a_hundred_diagnostics) {
  std::string text = "version: 1\nname: n\n";
  for (int i = 0; i < 1000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(parse(text, "f", nullptr).error().size(), 100u);
}

TEST(PolicyBadText, a_path_in_two_lists_is_told_with_both_places) {
  const auto policy =
      parse("version: 1\nname: n\nfilesystem:\n  read: [/usr]\n  deny: [/a, /usr]\n", "p.yaml", nullptr);
  ASSERT_FALSE(policy);
  EXPECT_EQ(format(policy.error()),
            "p.yaml:5:14: filesystem.deny[1]: \"/usr\" is also in filesystem.read[0] (line 4, column 10), with another "
            "access\n  hint: keep one: write includes read, and protect is read that nobody changes\n");
}

TEST(PolicyBadText, formats_as_file_line_column_and_hint) {
  const auto policy = parse("version: 1\nname: n\nnetwork:\n  conect: []\n", "p.yaml", nullptr);
  ASSERT_FALSE(policy);
  EXPECT_EQ(format(policy.error()),
            "p.yaml:4:3: network.conect: unknown key \"conect\"\n  hint: did you mean \"connect\"?\n");
}

TEST(PolicyBadText, hints_give_the_corrected_value) {
  const std::pair<const char*, const char*> kHints[] = {
      {"{cidr: 10.1.2.3/8, ports: [1]}", "write 10.0.0.0/8 "},
      {"{cidr: \"2001:db8::1/32\", ports: [1]}", "write 2001:db8::/32 "},
      {"{cidr: \"::ffff:10.1.2.3/104\", ports: [1]}", "write 10.0.0.0/8 "},
      {"{address: 10.0.0.0/8, ports: [1]}", "write cidr: 10.0.0.0/8"},
      {"{address: pypi.org, ports: [1]}", "a name is written as host:"},
      {"{address: 10.0.0.1, ports: [20-10]}", "write 10-20"},
      {"{host: 10.0.0.1, ports: [1]}", "write address: instead"},
      {"{host: \"a.*.org\", ports: [1]}", "a * stands only for the first labels"},
  };
  const auto of_files = parse("version: 1\nname: n\nfilesystem: {write: [~/x, \"/tmp/*\"]}\n", "p", nullptr);
  ASSERT_FALSE(of_files);
  EXPECT_NE(of_files.error()[0].hint.find("~ and variables are not expanded"), std::string::npos);
  EXPECT_NE(of_files.error()[1].hint.find("covers everything below"), std::string::npos);
  for (const auto& [entry, hint] : kHints) {
    const auto policy = parse("version: 1\nname: n\nnetwork: {connect: [" + std::string(entry) + "]}\n", "p", nullptr);
    ASSERT_FALSE(policy) << entry;
    EXPECT_EQ(policy.error()[0].hint.rfind(hint, 0), 0u) << policy.error()[0].hint;
  }
}

}  // namespace
}  // namespace sbpf::policy
