// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/assigned.h"

#include <gtest/gtest.h>

#include "agent/kernel/launchers.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {

policy::Policy policy_of(const char* text) {
  return *policy::parse(text, "test", [](std::string_view) { return std::nullopt; });
}

TEST(Assigned, comes_back_as_it_was_written) {
  for (
      const char* text :
      {"version: 1\nname: none\n",
       "version: 1\nname: some\nmode: audit\non_loss: kill\nnetwork: {connect: [{cidr: 10.0.0.0/8, ports: [1-9], protocol: tcp}]}\n",
       "version: 1\nname: files\nfilesystem: {default: write, deny: [/srv/a b]}\nprocess: {exec: {deny_writable: true}}\n"}) {
    const policy::Policy before = policy_of(text);
    const auto back = parse_assignment("web", assignment_text("/sys/fs/cgroup/system.slice/web.service", before));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->name, "web");
    EXPECT_EQ(back->cgroup, "/sys/fs/cgroup/system.slice/web.service");
    EXPECT_EQ(policy::canonical(back->policy), policy::canonical(before));
    EXPECT_EQ(policy::sha256(back->policy), policy::sha256(before));
  }
}

TEST(Assigned, what_is_not_of_our_making_is_an_error_with_its_file) {
  for (const char* text : {"", "\n", "nonsense", "nonsense\nversion: 1\nname: n\n", "/cgroup", "/cgroup\n",
                           "/cgroup\nversion: 2\nname: n\n", "/cgroup\nversion: 1\nname: n\nextends: [no-network]\n"}) {
    const auto parsed = parse_assignment("web", text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code.text(), "state") << text;
    EXPECT_NE(parsed.error().message.find("/var/lib/sbpf/assigned/web"), std::string::npos) << parsed.error().message;
  }
}

TEST(Assigned, a_name_that_is_a_path_is_none) {
  for (const char* name : {"", ".", "..", "../web", "a/b", ".new"}) {
    EXPECT_EQ(assign(name, "/sys/fs/cgroup/web", policy_of("version: 1\nname: n\n")).error().code.text(), "bad_name")
        << name;
    EXPECT_EQ(end_assignment(name).value_or(true), false) << name;
    EXPECT_EQ(assigned_cgroup(name), "") << name;
  }
  for (const char* path : {"", "web", "/sys/fs/cgroup/a\nb"})
    EXPECT_EQ(assign("web", path, policy_of("version: 1\nname: n\n")).error().code.text(), "not_a_cgroup") << path;
}

TEST(Launchers, are_service_managers_by_their_name) {
  for (const char* path : {"/usr/lib/systemd/systemd", "/lib/systemd/systemd (deleted)"})
    EXPECT_TRUE(is_manager_path(path)) << path;
  for (const char* path :
       {"", "/bin/bash", "/usr/lib/systemd/systemd-executor", "systemd", "/usr/bin/systemd (deleted) "})
    EXPECT_FALSE(is_manager_path(path)) << path;
}

TEST(UserOfRun, is_in_its_name) {
  EXPECT_EQ(user_of_run("u4242-job"), 4242u);
  EXPECT_EQ(user_of_run("u0-"), 0u);
  EXPECT_EQ(user_of_run("u4294967295-job"), 4294967295u);
  for (const char* name : {"", "u", "u-", "u4242", "u4242_job", "4242-job", "user-1", "u-1-job", "u+1-job", "u 1-job",
                           "u4294967296-job", "xu1-job"})
    EXPECT_EQ(user_of_run(name), std::nullopt) << name;
}

}  // namespace
}  // namespace sbpf::agent
