// SPDX-License-Identifier: Apache-2.0
// Rules on the command line, and files in `extends`.
#include "cli/more_rules.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/temp_dir.h"

namespace sbpf::cli {
namespace {

class MoreRulesTest : public InTempDir {
 protected:
  void SetUp() override {
    InTempDir::SetUp();
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(top_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    InTempDir::TearDown();
  }
  void write(const std::string& file, const std::string& rest) {
    std::filesystem::create_directories((top_ / file).parent_path());
    std::ofstream(top_ / file) << "version: 1\nname: " << std::filesystem::path(file).stem().string() << "\n" << rest;
  }
  // The canonical text, or the error.
  static std::string text_of(const std::string& reference, const MoreRules& more = {}) {
    const auto loaded = load_policy(reference, more);
    return loaded ? policy::canonical(loaded->policy) : loaded.error().message;
  }

  std::filesystem::path before_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(MoreRulesTest, add_to_those_of_a_profile) {
  const std::string text =
      text_of("runtime-files", {{"/data", "rel"}, {"out/"}, {"192.0.2.1:443", "[2001:db8::1]:80"}});
  EXPECT_TRUE(has(text, "name: \"runtime-files.more\"\n")) << text;
  EXPECT_TRUE(has(text, "/data")) << text;
  EXPECT_TRUE(has(text, (top_ / "rel").string())) << text;
  EXPECT_TRUE(has(text, (top_ / "out").string() + "\n") || has(text, (top_ / "out").string() + "\"")) << text;
  EXPECT_TRUE(has(text, "192.0.2.1")) << text;
  EXPECT_TRUE(has(text, "2001:db8::1")) << text;
  EXPECT_TRUE(has(text, "/dev/mqueue")) << text;
}

TEST_F(MoreRulesTest, none_leave_the_policy_as_it_is) {
  EXPECT_EQ(text_of("untrusted"), policy::canonical(load_policy("untrusted")->policy));
}

TEST_F(MoreRulesTest, a_private_loopback_stays_so) {
  for (const char* endpoint : {"127.0.0.1:80", "[::1]:80", "192.0.2.1:443", "pypi.org:443"})
    EXPECT_TRUE(has(text_of("untrusted", {{}, {}, {endpoint}}), "loopback: private")) << endpoint;
}

TEST_F(MoreRulesTest, names_of_hosts_are_rules_by_name) {
  const std::string text = text_of("no-network", {{}, {}, {"pypi.org:443"}});
  EXPECT_TRUE(has(text, "pypi.org")) << text;
}

TEST_F(MoreRulesTest, need_a_policy_that_judges_files) {
  EXPECT_TRUE(has(text_of("no-network", {{"/data"}, {}, {}}), "has no rules for files"));
  EXPECT_TRUE(has(text_of("no-network", {{}, {"/data"}, {}}), "has no rules for files"));
}

TEST_F(MoreRulesTest, what_is_no_endpoint_is_refused) {
  for (const char* bad : {"pypi.org", "pypi.org:0", "pypi.org:443x", ":443", "192.0.2.1", "192.0.2.1:65536", "a b:1"})
    EXPECT_TRUE(has(text_of("no-network", {{}, {}, {bad}}), "is no endpoint")) << bad;
}

TEST_F(MoreRulesTest, a_word_is_never_a_key) {
  const std::string evil = "/x\", \"write\": [\"/\"], \"q\": \"";
  const std::string text = text_of("untrusted", {{evil, "/y]\nnetwork: {dangerously_allow_all: true}"}, {}, {}});
  EXPECT_FALSE(has(text, "dangerously_allow_all: true\n")) << text;
  EXPECT_EQ(load_policy("untrusted", MoreRules{{evil}, {}, {}})->policy.filesystem.rules.size(),
            load_policy("untrusted")->policy.filesystem.rules.size() + 1);
  EXPECT_TRUE(has(text_of("untrusted", {{"/\xff"}, {}, {}}), "not UTF-8"));
}

TEST_F(MoreRulesTest, the_base_is_the_policy_that_was_named) {
  // A `..` behind a link leads elsewhere than its text says.
  write("deep/p.yaml", "on_loss: kill\n");
  write("p.yaml", "mode: audit\n");
  std::filesystem::create_directory(top_ / "deep/dir");
  std::filesystem::create_symlink(top_ / "deep/dir", top_ / "link");
  const MoreRules more{{}, {}, {"192.0.2.1:1"}};
  EXPECT_EQ(load_policy("link/../p.yaml", more)->policy.on_loss, policy::OnLoss::kill);
  EXPECT_EQ(load_policy("link/../p.yaml", more)->policy.mode, policy::Mode::enforce);
  write("own.yaml", "extends: [./link/../p.yaml]\n");
  EXPECT_EQ(load_policy("own.yaml")->policy.on_loss, policy::OnLoss::kill);
}

TEST_F(MoreRulesTest, the_policy_is_read_once) {
  ASSERT_EQ(::mkfifo("pipe.yaml", 0600), 0);
  std::thread writer([] { std::ofstream("pipe.yaml") << "version: 1\nname: piped\non_loss: kill\n"; });
  const auto loaded = load_policy("./pipe.yaml", MoreRules{{}, {}, {"192.0.2.1:1"}});
  writer.join();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->policy.name, "piped.more");
  EXPECT_EQ(loaded->policy.on_loss, policy::OnLoss::kill);
}

TEST_F(MoreRulesTest, nothing_is_lifted_and_nothing_is_taken) {
  write("base.yaml", "filesystem: {read: [/r], write: [/w], deny: [/w/deny], protect: [/w/protect]}\n");
  for (const char* kept : {"/w/deny", "/w/protect"})
    for (const MoreRules& more : {MoreRules{{kept}, {}, {}}, MoreRules{{}, {kept}, {}}})
      EXPECT_TRUE(has(text_of("./base.yaml", more), "has a rule of its own")) << kept;
  const auto access = [](const MoreRules& more, const char* path) {
    const auto loaded = load_policy("./base.yaml", more);
    for (const auto& rule : loaded->policy.filesystem.rules)
      if (rule.path == path) return rule.access;
    return policy::FsAccess::deny;
  };
  EXPECT_EQ(access({{"/w"}, {}, {}}, "/w"), policy::FsAccess::write);
  EXPECT_EQ(access({{"/r"}, {}, {}}, "/r"), policy::FsAccess::read);
  EXPECT_EQ(access({{}, {"/r"}, {}}, "/r"), policy::FsAccess::write);
}

TEST_F(MoreRulesTest, nothing_of_the_host_is_in_a_private_place) {
  for (const MoreRules& more : {MoreRules{{"/tmp/a"}, {}, {}}, MoreRules{{}, {"/dev/shm/a"}, {}}})
    EXPECT_TRUE(has(text_of("untrusted", more), "that the policy untrusted makes private"));
  EXPECT_TRUE(has(text_of("untrusted", {{"/tmpa"}, {}, {}}), "- /tmpa\n"));
}

TEST_F(MoreRulesTest, an_empty_path_is_none) {
  EXPECT_TRUE(has(text_of("untrusted", {{""}, {}, {}}), "a path is missing"));
  EXPECT_TRUE(has(text_of("untrusted", {{}, {""}, {}}), "a path is missing"));
}

TEST_F(MoreRulesTest, relative_paths_go_up_from_the_working_directory_alone) {
  std::filesystem::create_directory(top_ / "below");
  std::filesystem::current_path(top_ / "below");
  EXPECT_TRUE(has(text_of("runtime-files", {{".././data"}, {}, {}}), "- " + (top_ / "data").string() + "\n"));
  EXPECT_TRUE(has(text_of("runtime-files", {{"a/../data"}, {}, {}}), "policy runtime-files is not valid"));
  std::filesystem::remove(top_ / "below");
  EXPECT_TRUE(has(text_of("runtime-files", {{"data"}, {}, {}}), "the working directory is gone"));
  EXPECT_TRUE(has(text_of("runtime-files", {{"/data"}, {}, {"192.0.2.1:1"}}), "- /data\n"));
}

TEST_F(MoreRulesTest, characters_of_patterns_stand_for_themselves) {
  const auto loaded = load_policy("untrusted", MoreRules{{"/app/[id]", "/a*b?", "/back\\slash"}, {}, {}});
  ASSERT_TRUE(loaded);
  std::size_t found = 0;
  for (const auto& rule : loaded->policy.filesystem.rules)
    for (const char* wanted : {"/app/[id]", "/a*b?", "/back\\slash"}) found += rule.path == wanted;
  EXPECT_EQ(found, 3u);
}

TEST_F(MoreRulesTest, a_path_that_the_policy_has_gets_the_later_right) {
  write("base.yaml", "filesystem: {read: [/data]}\n");
  const auto loaded = load_policy("./base.yaml", MoreRules{{}, {"/data"}, {}});
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->policy.filesystem.rules.size(), 1u);
  EXPECT_EQ(loaded->policy.filesystem.rules.front().access, policy::FsAccess::write);
}

TEST_F(MoreRulesTest, extends_takes_files_relative_to_the_one_that_names_them) {
  write("own.yaml", "extends: [./lib/a.yaml]\n");
  write("lib/a.yaml", "extends: [./b.yaml, ../c.yaml]\nfilesystem: {read: [/a]}\n");
  write("lib/b.yaml", "filesystem: {read: [/b]}\n");
  write("c.yaml", "filesystem: {read: [/c]}\n");
  EXPECT_EQ(load_policy("./own.yaml")->policy.filesystem.rules.size(), 3u);
  EXPECT_EQ(load_policy((top_ / "own.yaml").string())->policy.filesystem.rules.size(), 3u);
  write("whole.yaml", "extends: [" + (top_ / "lib/a.yaml").string() + "]\n");
  EXPECT_EQ(load_policy("whole.yaml")->policy.filesystem.rules.size(), 3u);
}

TEST_F(MoreRulesTest, extends_names_the_file_that_is_wrong) {
  write("own.yaml", "extends: [./lib/a.yaml]\n");
  EXPECT_TRUE(has(text_of("./own.yaml"), "the file \"./lib/a.yaml\" cannot be read here"));
  write("lib/a.yaml", "filesystem: {reed: [/a]}\n");
  EXPECT_TRUE(has(text_of("./own.yaml"), "./lib/a.yaml:3:14: filesystem.reed")) << text_of("./own.yaml");
  write("lib/a.yaml", "extends: [../own.yaml]\n");
  EXPECT_TRUE(has(text_of("./own.yaml"), "profiles are extended in all")) << text_of("./own.yaml");
  write("own.yaml", "extends: [./own.yaml]\n");
  EXPECT_TRUE(has(text_of("./own.yaml"), "extends itself")) << text_of("./own.yaml");
  write("own.yaml", "extends: [\"./a\\nforged\"]\n");
  EXPECT_FALSE(has(text_of("./own.yaml"), "\nforged")) << text_of("./own.yaml");
}

TEST_F(MoreRulesTest, extends_of_a_file_is_refused_where_the_author_has_fewer_rights) {
  write("base.yaml", "");
  write("own.yaml", "extends: [./base.yaml]\n");
  EXPECT_TRUE(load_policy("./own.yaml"));
  const auto refused = load_policy("./own.yaml", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code.text(), "invalid_policy");
  write("own.yaml", "extends: [/etc/shadow]\n");
  EXPECT_TRUE(has(load_policy("./own.yaml", false).error().message, "cannot be read here"));
}

}  // namespace
}  // namespace sbpf::cli
