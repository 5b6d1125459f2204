// SPDX-License-Identifier: Apache-2.0
// What the answers of a sentinel say: three answers, and only a hook that the kernel got past without running it is
// lost.
#include "agent/verify/liveness.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace sbpf::agent {
namespace {

// All hooks were called, and failed as they do once the kernel is past them.
sentinel::Report whole() {
  sentinel::Report report{};
  for (std::size_t i = 0; i < report.error.size(); i++) {
    report.error[i] = sentinel::kNotTried;
    if (!sentinel::calls(static_cast<sbpf_hook>(i))) continue;
    for (const int error :
         {0, EINVAL, EISDIR, ENOTDIR, ENOTCONN, EOPNOTSUPP, ENOPROTOOPT, EEXIST, EFAULT, ENOTTY, ENOEXEC})
      if (sentinel::passed(static_cast<sbpf_hook>(i), error)) report.error[i] = error;
  }
  return report;
}

sentinel::Counts all_ran() {
  sentinel::Counts counts{};
  counts.fill(1);
  return counts;
}

TEST(Liveness, every_lsm_hook_but_a_few_is_called) {
  std::vector<std::string> without;
  for (const Hook& hook : all_hooks())
    if (hook.kind == HookKind::lsm && !sentinel::calls(hook.id)) without.emplace_back(hook.name);
  // docs/WATCH.md names them.
  EXPECT_EQ(without,
            (std::vector<std::string>{"userns_create", "uring_override_creds", "file_ioctl_compat",
                                      "inode_file_setattr", "key_alloc", "key_permission", "kernel_module_request"}));
}

TEST(Liveness, all_counted_is_alive) { EXPECT_EQ(sentinel::judge(whole(), {}, all_ran()).proof, Proof::runs); }

TEST(Liveness, what_another_sentinel_called_is_called) {
  EXPECT_TRUE(sentinel::all_counted({}, all_ran(), {}));
  EXPECT_FALSE(sentinel::all_counted(all_ran(), all_ran(), {}));
  sentinel::Counts now = all_ran();
  now[SBPF_HOOK_bpf] = 0;
  EXPECT_FALSE(sentinel::all_counted({}, now, {})) << "one is missing";
  EXPECT_TRUE(sentinel::all_counted({}, now, {SBPF_HOOK_bpf})) << "which could not be called";
}

TEST(Liveness, none_counted_is_stopped) {
  const Liveness found = sentinel::judge(whole(), {}, {});
  EXPECT_EQ(found.proof, Proof::stopped);
  EXPECT_NE(found.reason.find("more"), std::string::npos);
}

TEST(Liveness, one_that_was_passed_uncounted_is_stopped) {
  sentinel::Counts after = all_ran();
  after[SBPF_HOOK_bpf] = 0;
  const Liveness found = sentinel::judge(whole(), {}, after);
  EXPECT_EQ(found.proof, Proof::stopped);
  EXPECT_EQ(found.stopped, std::vector<sbpf_hook>{SBPF_HOOK_bpf});
}

// Another LSM, a limit, or a mount that is read-only stands before the hook.
TEST(Liveness, one_that_was_refused_before_its_hook_is_no_loss) {
  for (const int error : {EPERM, EACCES, EROFS, EMFILE, ENOMEM, ENOENT}) {
    sentinel::Report report = whole();
    sentinel::Counts after = all_ran();
    report.error[SBPF_HOOK_path_unlink] = error;
    after[SBPF_HOOK_path_unlink] = 0;
    const Liveness found = sentinel::judge(report, {}, after);
    EXPECT_EQ(found.proof, Proof::runs) << error;
    EXPECT_EQ(found.untold, std::vector<sbpf_hook>{SBPF_HOOK_path_unlink}) << error;
  }
}

TEST(Liveness, where_nothing_could_be_called_it_cannot_be_told) {
  sentinel::Report report = whole();
  for (auto& error : report.error)
    if (error != sentinel::kNotTried) error = EMFILE;
  EXPECT_EQ(sentinel::judge(report, {}, {}).proof, Proof::unknown);
}

TEST(Liveness, counts_wrap) {
  sentinel::Counts before{}, after{};
  before.fill(~0u);
  EXPECT_EQ(sentinel::judge(whole(), before, after).proof, Proof::runs);
}

}  // namespace
}  // namespace sbpf::agent
