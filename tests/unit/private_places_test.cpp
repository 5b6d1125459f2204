// SPDX-License-Identifier: Apache-2.0
// `filesystem.private`: open where the sandbox has another directory than the host, and closed where it has none.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "agent/files/private_places.h"
#include "agent/files/view_codec.h"
#include "policy/advice.h"
#include "tests/unit/fs_host.h"

namespace sbpf::policy {
namespace {

const Policy kOwn = parse(
                        "version: 1\nname: own\n"
                        "filesystem: {read: [/usr], private: [/tmp, /var/tmp], protect: [/tmp/kept]}\n",
                        "p.yaml", nullptr)
                        .value();

FsView hosts_view(const Policy& policy) {
  FsView view = empty_view(policy);
  view.private_places.clear();
  return view;
}

TEST(PrivatePlaces, are_written_like_other_lists) {
  EXPECT_EQ(private_places(kOwn), (std::set<std::string>{"/tmp", "/var/tmp"}));
  const std::string text = canonical(kOwn);
  EXPECT_NE(text.find("  private:\n    - /tmp\n    - /var/tmp\n"), std::string::npos) << text;
  EXPECT_EQ(canonical(parse(text, "c.yaml", nullptr).value()), text);
}

TEST(PrivatePlaces, are_open_where_they_are_the_sandboxs_and_else_closed) {
  fs_host::Host host;
  for (const char* path : {"/tmp/kept", "/var/tmp", "/usr"}) host.make(path);
  FsView view = host.view(kOwn);
  view.private_places = {"/tmp"};
  const auto image = compile(kOwn, 1, view);
  ASSERT_TRUE(image) << (image ? "" : image.error().message);
  EXPECT_EQ(fs_rights_at(*image, "/tmp/x"), SBPF_FS_READ | SBPF_FS_WRITE | SBPF_FS_EXEC);
  EXPECT_EQ(fs_rights_at(*image, "/tmp/kept"), SBPF_FS_READ | SBPF_FS_EXEC);
  EXPECT_EQ(fs_rights_at(*image, "/var/tmp/x"), SBPF_FS_EXEC) << "programs are not judged";
  EXPECT_TRUE(fs_rule_writes(*image, "/tmp/x"));
  EXPECT_FALSE(fs_rule_writes(*image, "/var/tmp/x"));
}

// The host's directory has the name of the place as well, and other mounts to be seen by.
TEST(PrivatePlaces, that_are_mounted_are_known_by_their_directory_and_not_by_their_name) {
  fs_host::Host host;
  for (const char* path : {"/tmp", "/usr"}) host.make(path);
  const sbpf_rule_key name = fs_name_key(SBPF_FS_ROOT_NODE, "tmp");
  const auto rights = [&] {
    const auto image = compile(kOwn, 1, host.view(kOwn));
    const auto named = find_named(image->entries, name, "tmp");
    return std::pair(named.value().rights, fs_rights_at(*image, "/tmp/x") & SBPF_FS_WRITE);
  };
  EXPECT_EQ(rights(), (std::pair<__u32, __u32>(SBPF_FS_READ | SBPF_FS_WRITE, SBPF_FS_WRITE)))
      << "no mount hides another";
  host.mounts.insert("/tmp");
  EXPECT_EQ(rights(), (std::pair<__u32, __u32>(0, SBPF_FS_WRITE)));
}

TEST(PrivatePlaces, no_link_is_followed_that_the_sandbox_may_have_made_in_one) {
  Policy policy = kOwn;
  policy.filesystem.rules.push_back({"/var/tmp/link", FsAccess::read, {}});
  FsView view = empty_view(policy);
  view.links.push_back({"/var/tmp/link", view.paths["/var/tmp/link"].front(), {}, "/etc"});
  const auto own = compile(policy, 1, view);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code.str(), "planted_link");
  view.private_places.clear();
  EXPECT_TRUE(compile(policy, 1, view));
}

TEST(PrivatePlaces, of_the_host_are_shared_by_a_rule_for_the_place) {
  for (const FsOperation operation : {FsOperation::read, FsOperation::write, FsOperation::create}) {
    EXPECT_TRUE(explain_path(kOwn, operation, "/tmp/x").allowed) << "as `run` makes it";
    const Explanation shared = explain_path(kOwn, hosts_view(kOwn), operation, "/tmp/x");
    EXPECT_FALSE(shared.allowed);
    EXPECT_EQ(shared.rule, "filesystem.private: /tmp");
    EXPECT_EQ(shared.suggestion, "filesystem: {write: [/tmp]}");
    EXPECT_EQ(advice(kOwn, operation, "/tmp/x"), "filesystem: {write: [/tmp]}") << "it was denied";
  }
  const auto changed = with_change(kOwn, "filesystem: {write: [/tmp]}");
  ASSERT_TRUE(changed);
  EXPECT_EQ(private_places(*changed), std::set<std::string>{"/var/tmp"});
}

TEST(PrivatePlaces, hard_links_are_looked_for_there_as_where_a_rule_writes) {
  const auto itself = [](const std::string& path) { return std::vector<std::string>{path}; };
  EXPECT_EQ(places_of_other_names(kOwn, itself), std::set<std::string>{"/tmp/kept"});
  EXPECT_EQ(places_of_other_names(Policy(kOwn), kOwn), (std::set<std::string>{"/tmp", "/var/tmp"}));
}

}  // namespace
}  // namespace sbpf::policy

namespace sbpf::agent {
namespace {

TEST(PrivatePlaces, are_carried_from_the_process_that_looks) {
  policy::FsView view;
  view.private_places = {"/tmp", "/a\xff"};
  const auto back = unpacked(packed(view));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->private_places, view.private_places);
}

TEST(PrivatePlaces, are_other_directories_than_the_first_process_has) {
  const Fd usr(::open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC)), root(::open("/proc/1/root", O_PATH | O_CLOEXEC));
  const bool can_tell = static_cast<bool>(root);
  EXPECT_FALSE(is_private_place(usr, "/usr"));
  EXPECT_FALSE(is_private_place(usr, "/usr/../usr"));
  EXPECT_EQ(is_private_place(usr, "/etc"), can_tell);
  EXPECT_EQ(is_private_place(usr, "/none"), can_tell);
  EXPECT_FALSE(is_private_place(usr, "/etc/passwd")) << "which is no directory";
  EXPECT_FALSE(is_private_place(Fd(), "/etc"));
}

}  // namespace
}  // namespace sbpf::agent
