// SPDX-License-Identifier: Apache-2.0
// Files with several names: where they are looked for, and what an image says of them.
#include "tests/unit/fs_image_words.h"

namespace sbpf::policy {
namespace {

using Paths = std::set<std::string>;

constexpr FsInode kFile{9000, 3, 7, false};

Host host_of_names(const std::set<std::string>& names) {
  Host host;
  for (const std::string& name : names) {
    host.make(name);
    host.inodes[name] = kFile;
  }
  host.linked = names;
  return host;
}

std::string file(const Policy& policy, const Host& host) {
  return at(compiled(policy, host.view(policy)), fs_inode_key(kFile));
}

TEST(OtherNames, a_file_has_the_rights_of_its_place) {
  const Policy policy = policy_of("  write: [/w]\n  protect: [/w/tests]\n  deny: [/w/secret]\n");
  EXPECT_EQ(file(policy, host_of_names({"/w/tests/a"})), "4 r by 2");
  EXPECT_EQ(file(policy, host_of_names({"/w/secret/a"})), "3 - by 1");
  EXPECT_EQ(file(policy, host_of_names({"/w/other/a"})), "2 rw by 0");
}

TEST(OtherNames, a_file_has_the_least_of_all_places) {
  const Policy policy = policy_of("  write: [/w]\n  protect: [/w/tests]\n  deny: [/w/secret]\n");
  EXPECT_EQ(file(policy, host_of_names({"/w/a", "/w/tests/a"})), "4 r by 2");
  EXPECT_EQ(file(policy, host_of_names({"/w/tests/a", "/w/z"})), "4 r by 2");
  EXPECT_EQ(file(policy, host_of_names({"/w/a", "/w/secret/a", "/w/tests/a"})), "3 - by 1");
}

TEST(OtherNames, a_file_that_is_mounted_has_the_least_of_its_names) {
  const Policy policy = policy_of("  write: [/w]\n  protect: [/w/tests]\n");
  Host host = host_of_names({"/w/mounted", "/w/tests/a"});
  host.linked = {"/w/tests/a"};
  host.mounts.insert("/w/mounted");
  EXPECT_EQ(file(policy, host), "3 r by 1");
}

TEST(OtherNames, a_rule_that_names_the_file_gives_it_no_more) {
  const Policy policy = policy_of("  write: [/w, /w/out.log]\n  protect: [/w/tests]\n");
  const Host host = host_of_names({"/w/tests/t", "/w/out.log"});
  EXPECT_EQ(file(policy, host), "3 r ruled by 1");
  EXPECT_EQ(at(compiled(policy, host.view(policy)), fs_name_key(2, "out.log")), "3 r ruled by 1") << "by its name, too";
  EXPECT_EQ(file(policy, host_of_names({"/w/out.log", "/w/other"})), "3 rw ruled by 1");
}

TEST(OtherNames, the_filter_of_files_knows_them) {
  const Policy policy = policy_of("  write: [/w]\n  protect: [/w/tests]\n");
  sbpf_policy_header with = compiled(policy, host_of_names({"/w/tests/a"}).view(policy)).header();
  EXPECT_NE(with.fs_files[0] | with.fs_files[1], 0u);
  Host host = host_of_names({"/w/tests/a"});
  host.linked.clear();
  sbpf_policy_header without = compiled(policy, host.view(policy)).header();
  EXPECT_EQ(without.fs_files[0] | without.fs_files[1], 0u);
}

std::vector<std::string> as_written(const std::string& path) { return {path}; }
Paths own_places(const std::string& rules) { return places_of_other_names(policy_of(rules), as_written); }

TEST(OtherNames, are_looked_for_in_what_is_taken_out_of_a_writable_place) {
  EXPECT_EQ(own_places("  write: [/w]\n  protect: [/w/tests, /p]\n  deny: [/w/a/b, /d, /wx]\n  read: [/w/r]\n"),
            (Paths{"/w/a/b", "/w/r", "/w/tests"}));
  EXPECT_EQ(own_places("  write: [/w]\n  read: [/w/r]\n  deny: [/w/r/no]\n"), (Paths{"/w/r", "/w/r/no"}));
  EXPECT_EQ(own_places("  write: [/]\n  deny: [/d]\n"), Paths{"/d"});
  EXPECT_EQ(own_places("  read: [/w]\n  deny: [/w/a]\n  protect: [/w/b]\n"), Paths{}) << "no link was made there";
  EXPECT_EQ(own_places("  default: write\n  deny: [/d]\n"), Paths{});
  EXPECT_EQ(own_places("  dangerously_allow_all: true\n"), Paths{});
  const auto led = [](const std::string& path) {
    return std::vector<std::string>{path == "/link" ? "/w/tests" : path};
  };
  EXPECT_EQ(places_of_other_names(policy_of("  write: [/w]\n  protect: [/link]\n"), led), Paths{"/link"})
      << "where it leads counts";
  const auto mounted = [](const std::string& path) {
    return path == "/m/tests" ? std::vector<std::string>{path, "/w/tests"} : std::vector<std::string>{path};
  };
  EXPECT_EQ(places_of_other_names(policy_of("  write: [/w]\n  protect: [/m/tests]\n"), mounted), Paths{"/m/tests"})
      << "where it lies, too";
}

TEST(OtherNames, are_looked_for_where_the_policy_before_let_them_be_made) {
  const Policy after = policy_of("  write: [/out]\n  read: [/w]\n  deny: [/d]\n  protect: [/p]\n");
  EXPECT_EQ(places_of_other_names(after, policy_of("  write: [/out, /w]\n  read: [/p]\n")), (Paths{"/out", "/w"}));
  EXPECT_EQ(places_of_other_names(after, policy_of("  read: [/w]\n")), Paths{});
  for (const char* everywhere : {"  default: write\n", "  write: [/]\n", "  dangerously_allow_all: true\n"})
    EXPECT_EQ(places_of_other_names(after, policy_of(everywhere)), (Paths{"/d", "/p"})) << everywhere;
  EXPECT_EQ(places_of_other_names(after, Policy()), (Paths{"/d", "/p"})) << "without a section";
  EXPECT_EQ(places_of_other_names(Policy(), policy_of("  write: [/w]\n")), Paths{}) << "nothing is judged any more";
}

}  // namespace
}  // namespace sbpf::policy
