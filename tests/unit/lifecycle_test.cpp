// SPDX-License-Identifier: Apache-2.0
// detach, kill, status, list and unload, by what the kernel answers: nothing is changed by who cannot tell.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "agent/agent.h"
#include "agent/host/paths.h"
#include "agent/sandbox/assigned.h"
#include "agent/sandbox/ended.h"
#include "tests/unit/fake_sandbox.h"

namespace sbpf::agent {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

const std::uint32_t kAttached = SBPF_SANDBOX_ATTACHED;

// "" where it succeeded.
template <typename Done>
std::string code_of(const Done& done) {
  return done ? "" : std::string(done.error().code.text());
}

// The records of all sandboxes cannot be read.
void fail_batches(FakeSandbox& web) {
  const FakeObject* const records = &web.kernel.map(web.kernel.kernel().sandboxes());
  web.kernel.fail_if([&web, records](int command, const bpf_attr& attr) {
    if (command != BPF_MAP_LOOKUP_BATCH) return 0;
    return web.kernel.find(static_cast<int>(attr.batch.map_fd)) == records ? EMFILE : 0;
  });
}

bool has_record(const FakeSandbox& web) { return record_seen(web.kernel.kernel(), web.id) == Seen::there; }

// ---- status and list ------------------------------------------------------------------------------------------------

TEST(Lifecycle, status_is_of_this_sandbox) {
  FakeSandbox web;
  const auto found = status("web", false);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->sandbox, "web");
  EXPECT_EQ(found->cgroup_id, web.id);
  EXPECT_EQ(found->cgroup, "/sys/fs/cgroup/app.slice/web");
  EXPECT_EQ(found->generation, 5u);
  EXPECT_TRUE(found->attached_cgroup);
  for (const HookStatus& hook : found->hooks) EXPECT_TRUE(hook.attached) << hook.hook->name << ": " << hook.reason;
  EXPECT_NE(found->isolation, Isolation::active) << "no sentinel runs here, so nothing proves that the programs do";
}

TEST(Lifecycle, status_of_one_that_lost_its_policy_is_inactive) {
  FakeSandbox web;
  web.erase_from(web.kernel.kernel().policies());
  const auto found = status("web", false);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->isolation, Isolation::inactive);
}

TEST(Lifecycle, status_of_a_name_that_nobody_has) {
  const FakeSandbox web;
  EXPECT_EQ(code_of(status("db", false)), "no_such_sandbox");
  ASSERT_TRUE(assign("db", "/sys/fs/cgroup/app.slice/db", policy::policy_of("network: none\n", "db")));
  const auto assigned = status("db", false);
  EXPECT_EQ(code_of(assigned), "no_such_sandbox");
  EXPECT_NE(assigned.error().message.find("/sys/fs/cgroup/app.slice/db"), std::string::npos)
      << assigned.error().message;
}

TEST(Lifecycle, who_cannot_tell_says_so) {
  FakeSandbox web;
  fail_batches(web);
  EXPECT_EQ(code_of(status("db", false)), "cannot_tell");
  EXPECT_EQ(code_of(statuses()), "cannot_tell");
  const auto listed = list();
  ASSERT_TRUE(listed);
  EXPECT_NE(listed->unclear, "");
}

TEST(Lifecycle, list_has_sandboxes_and_assignments_and_none_that_ended) {
  FakeSandbox web;
  ASSERT_TRUE(assign("db", "/sys/fs/cgroup/app.slice/db", policy::policy_of("network: none\n", "db")));
  web.kernel.add_sandbox(12345, "gone", kAttached);  // its cgroup is not there
  const auto listed = list();
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->names, (Texts{"web", "db"}));
  EXPECT_EQ(listed->unclear, "");
  web.host.fail_handles(EMFILE);
  const auto hidden = list();
  ASSERT_TRUE(hidden);
  EXPECT_EQ(hidden->names.size(), 3u) << "one of which it cannot be told is not over";
  EXPECT_NE(hidden->unclear, "");
}

TEST(Lifecycle, nothing_is_loaded) {
  const FakeHost host;
  fs::remove_all(std::string(kPinRoot));
  const FakeKernel kernel;
  EXPECT_EQ(code_of(status("web", false)), "no_such_sandbox");
  EXPECT_EQ(code_of(detach("web")), "no_such_sandbox");
  EXPECT_EQ(list()->names, Texts{});
  EXPECT_EQ(statuses()->size(), 0u);
}

// ---- detach and kill ------------------------------------------------------------------------------------------------

TEST(Lifecycle, detach_lets_go_of_a_cgroup_that_is_anothers) {
  const FakeSandbox web;
  EXPECT_EQ(code_of(detach("web")), "");
  EXPECT_FALSE(has_record(web));
  EXPECT_EQ(policy_map_id(web.kernel.kernel(), web.id), 0u);
  EXPECT_TRUE(web.populated()) << "its processes go on";
  EXPECT_TRUE(is_marked_ended(web.record)) << "the watch would bring it back";
  EXPECT_EQ(code_of(detach("web")), "no_such_sandbox");
}

TEST(Lifecycle, kill_ends_what_runs_there_too) {
  const FakeSandbox web;
  EXPECT_EQ(code_of(kill("web")), "");
  EXPECT_FALSE(has_record(web));
  EXPECT_FALSE(web.populated());
  EXPECT_TRUE(fs::exists("/sys/fs/cgroup/app.slice/web")) << "the cgroup is not sbpf's";
}

TEST(Lifecycle, detach_ends_a_run_with_its_cgroup) {
  const FakeSandbox web(kRunPath, 0);
  EXPECT_EQ(code_of(detach("web")), "");
  EXPECT_FALSE(has_record(web));
  EXPECT_FALSE(fs::exists("/sys/fs/cgroup/sbpf/web"));
}

TEST(Lifecycle, an_assignment_ends_with_its_sandbox_and_without_one) {
  FakeSandbox web(kAttachedPath, kAttached | SBPF_SANDBOX_KEPT);
  for (const char* name : {"web", "db"})
    ASSERT_TRUE(assign(name, "/sys/fs/cgroup/app.slice/web", policy::policy_of("network: none\n", name)));
  EXPECT_EQ(code_of(detach("web")), "");
  EXPECT_EQ(assigned_names(), Texts{"db"});
  EXPECT_EQ(code_of(detach("db")), "");
  EXPECT_EQ(assigned_names(), Texts{});
}

// Nobody is let go of whose processes cannot be seen.
TEST(Lifecycle, a_cgroup_that_is_hidden_is_neither_killed_nor_detached) {
  for (const int error : {EMFILE, ENOMEM, EPERM}) {
    FakeSandbox web;
    web.host.fail_handles(error);
    EXPECT_EQ(code_of(kill("web")), "cgroup_hidden") << error;
    EXPECT_EQ(code_of(detach("web")), "cgroup_hidden") << error;
    EXPECT_TRUE(has_record(web)) << error;
    EXPECT_NE(policy_map_id(web.kernel.kernel(), web.id), 0u) << error;
    EXPECT_TRUE(web.populated()) << error;
  }
}

TEST(Lifecycle, records_that_cannot_be_read_end_nothing) {
  FakeSandbox web;
  web.kernel.unpin(web.record, web.own_hooks().front());
  fail_batches(web);
  EXPECT_EQ(code_of(kill("web")), "cannot_tell");
  web.show_all();
  EXPECT_TRUE(has_record(web));
  EXPECT_TRUE(web.populated());
}

// ---- unload ---------------------------------------------------------------------------------------------------------

TEST(Lifecycle, unload_leaves_a_sandbox_alone) {
  const FakeSandbox web;
  const auto done = unload();
  EXPECT_EQ(code_of(done), "busy");
  EXPECT_NE(done.error().message.find("web"), std::string::npos);
  EXPECT_TRUE(fs::exists(std::string(kPinRoot)));
  EXPECT_TRUE(has_record(web));
}

TEST(Lifecycle, unload_leaves_an_assignment_alone) {
  FakeSandbox web;
  ASSERT_EQ(code_of(detach("web")), "");
  ASSERT_TRUE(assign("db", "/sys/fs/cgroup/app.slice/db", policy::policy_of("network: none\n", "db")));
  EXPECT_EQ(code_of(unload()), "busy");
  EXPECT_TRUE(fs::exists(std::string(kPinRoot)));
}

TEST(Lifecycle, unload_removes_nothing_where_it_cannot_tell) {
  FakeSandbox web;
  fail_batches(web);
  EXPECT_EQ(code_of(unload()), "cannot_tell");
  EXPECT_TRUE(fs::exists(std::string(kPinRoot)));
  EXPECT_TRUE(has_record(web));
}

TEST(Lifecycle, unload_removes_all_when_nobody_is_left) {
  FakeSandbox web;
  ASSERT_EQ(code_of(detach("web")), "");
  // The kernel frees what nobody holds.
  web.kernel.fail_if([](int command, const bpf_attr&) { return command == BPF_PROG_GET_FD_BY_ID ? ENOENT : 0; });
  const auto done = unload();
  ASSERT_EQ(code_of(done), "");
  EXPECT_EQ(*done, 0u);
  EXPECT_FALSE(fs::exists(std::string(kPinRoot)));
  EXPECT_FALSE(fs::exists("/sys/fs/cgroup/sbpf"));
}

}  // namespace
}  // namespace sbpf::agent
