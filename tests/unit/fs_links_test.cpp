// SPDX-License-Identifier: Apache-2.0
// Symbolic links on the way to a rule's place: which are followed, and which hold.
#include "tests/unit/fs_image_words.h"

namespace sbpf::policy {
namespace {

// As if the rule's path led to `place`, through a link at `link`.
FsView led(const Policy& policy, const Host& host, const std::string& rule, const std::string& place,
           const std::string& link) {
  FsView view = host.view(policy);
  view.paths[rule] = {host.path(place)};
  view.links.push_back({rule, host.path(link), {}, place});
  return view;
}

Error refusal(const Policy& policy, const FsView& view) {
  const auto image = compile(policy, 1, view);
  EXPECT_FALSE(image);
  return image ? Error{} : image.error();
}

TEST(FilesystemLinks, one_where_a_rule_lets_the_sandbox_write_is_not_followed) {
  const Policy policy = policy_of("  write: [/w]\n  protect: [/w/tests/unit]\n");
  Host host;
  for (const char* path : {"/w/tests", "/root/unit"}) host.make(path);
  const Error error = refusal(policy, led(policy, host, "/w/tests/unit", "/root/unit", "/w/tests"));
  EXPECT_EQ(error.code.text(), "planted_link");
  EXPECT_EQ(
      error.message,
      "filesystem: p.yaml:5:13: /w/tests/unit leads through the symbolic link /w/tests -> /root/unit, which lies where the sandbox may "
      "write");
  EXPECT_EQ(error.hint, "name the target instead: a program of an earlier run may have made the link");
}

TEST(FilesystemLinks, the_directorys_nearest_rule_decides) {
  const Policy policy = policy_of("  write: [/w, /w/ro/f]\n  read: [/w/ro]\n  protect: [/w/ro/sub/link]\n");
  Host host;
  for (const char* path : {"/w/ro/sub/link", "/data"}) host.make(path);
  compiled(policy, led(policy, host, "/w/ro/sub/link", "/data", "/w/ro/sub/link"));
  EXPECT_EQ(refusal(policy, led(policy, host, "/w/ro/sub/link", "/data", "/w/link")).code.text(), "planted_link");
}

TEST(FilesystemLinks, a_rule_that_lets_the_link_itself_be_written_is_none_for_its_directory) {
  const Policy policy = policy_of("  write: [/workspace]\n");
  Host host;
  for (const char* path : {"/workspace", "/data"}) host.make(path);
  const Image image = compiled(policy, led(policy, host, "/workspace", "/data", "/workspace"));
  EXPECT_EQ(inode(image, host, "/data"), "2 rw ruled by 0");
  EXPECT_EQ(inode(image, host, "/workspace"), "3 - holds default") << "another link there would lead elsewhere";
}

TEST(FilesystemLinks, what_a_default_lets_be_written_is_followed_and_held) {
  const Policy policy = policy_of("  default: write\n  protect: [/opt/current/tests]\n");
  Host host;
  for (const char* path : {"/opt/current", "/opt/v1/tests"}) host.make(path);
  const Image image = compiled(policy, led(policy, host, "/opt/current/tests", "/opt/v1/tests", "/opt/current"));
  EXPECT_EQ(inode(image, host, "/opt/current"), "3 rw holds default");
  EXPECT_EQ(inode(image, host, "/opt"), "2 rw named holds default");
}

TEST(FilesystemLinks, another_path_of_the_same_directory_counts_too) {
  const Policy policy = policy_of("  write: [/srv]\n  protect: [/mnt/link]\n");
  Host host;
  for (const char* path : {"/srv/deep/w/link", "/mnt/link", "/data"}) host.make(path);
  FsView view = led(policy, host, "/mnt/link", "/data", "/mnt/link");
  compiled(policy, view);
  view.links[0].aliases.push_back(host.path("/srv/deep/w/link"));
  EXPECT_EQ(refusal(policy, view).code.text(), "planted_link");
}

TEST(FilesystemLinks, rules_for_programs_and_sockets_are_led_astray_no_more_easily) {
  const auto policy = parse(
      "version: 1\nname: p\nfilesystem: {write: [/w]}\nprocess: {exec: {allow: [/w/bin]}}\nnetwork: {unix: [/w/s]}\n",
      "p.yaml", nullptr);
  ASSERT_TRUE(policy);
  Host host;
  for (const char* path : {"/w/bin", "/w/s", "/usr/bin", "/run/s"}) host.make(path);
  EXPECT_EQ(refusal(*policy, led(*policy, host, "/w/bin", "/usr/bin", "/w/bin")).code.text(), "planted_link");
  EXPECT_EQ(refusal(*policy, led(*policy, host, "/w/s", "/run/s", "/w/s")).code.text(), "planted_link");
}

}  // namespace
}  // namespace sbpf::policy
