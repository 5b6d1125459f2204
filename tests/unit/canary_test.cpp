// SPDX-License-Identifier: Apache-2.0
// What the canary's attempt at a hook proves (I5): only the hook's own refusal, or its own work where it refuses
// nothing.
#include <gtest/gtest.h>

#include <cerrno>

#include "agent/verify/canary.h"
#include "agent/verify/canary_ops.h"

namespace sbpf::agent {
namespace {

bool refuses(const Hook& hook) { return hook.kind != HookKind::trace && hook.kind != HookKind::dns; }

CanaryVerdict verdict(const Hook& hook, int error) { return canary_verdict(hook, error, hook.id + 1u); }

TEST(CanaryVerdict, EachHookIsProvenByItsOwnAnswer) {
  for (const Hook& hook : all_hooks()) {
    const CanaryVerdict refused = refuses(hook) ? CanaryVerdict::denied : CanaryVerdict::not_denied;
    EXPECT_EQ(verdict(hook, EPERM), refused) << hook.name;
    EXPECT_EQ(verdict(hook, EACCES), refused) << hook.name;
    EXPECT_EQ(verdict(hook, 0), refuses(hook) ? CanaryVerdict::not_denied : CanaryVerdict::denied) << hook.name;
  }
}

TEST(CanaryVerdict, NoHookIsProvenByAnotherErrno) {
  for (const Hook& hook : all_hooks())
    for (const int error :
         {EINVAL, ENOENT, ENOSYS, EAGAIN, EBUSY, ENOMEM, EMFILE, ECONNREFUSED, EADDRNOTAVAIL, ENETUNREACH, EOPNOTSUPP})
      EXPECT_EQ(verdict(hook, error), CanaryVerdict::not_denied) << hook.name << " " << error;
}

// Where the kernel has no room for the attempt, it has asked no hook.
TEST(CanaryVerdict, NothingIsProvenWhereTheHostIsShort) {
  for (const Hook& hook : all_hooks())
    for (const int error : {EAGAIN, ENOMEM, ENFILE, EMFILE, ETOOMANYREFS, ENOSPC, ENOENT}) {
      const CanaryVerdict untold = refuses(hook) ? CanaryVerdict::not_run : CanaryVerdict::not_denied;
      EXPECT_EQ(canary_verdict(hook, error, 0), untold) << hook.name << " " << error;
      EXPECT_EQ(canary_verdict(hook, error, hook.id + 2u), CanaryVerdict::not_denied) << hook.name << " " << error;
    }
}

TEST(CanaryVerdict, NoHookIsProvenByAnother) {
  for (const Hook& hook : all_hooks())
    for (const int error : {0, EPERM, EACCES})
      for (const std::uint32_t hit : {0u, hook.id + 0u, hook.id + 2u, static_cast<unsigned>(SBPF_HOOK_COUNT) + 1})
        EXPECT_EQ(canary_verdict(hook, error, hit), CanaryVerdict::not_denied)
            << hook.name << " " << error << " " << hit;
}

TEST(CanaryVerdict, UnreachableIsOnlyWhatTheKernelHasNoWayTo) {
  for (const Hook& hook : all_hooks())
    EXPECT_EQ(verdict(hook, canary::kUnreachable), CanaryVerdict::unreachable) << hook.name;
}

// A report is sound only if each hook of the sandbox is.
TEST(CanaryReport, IsSoundOnlyWithEachHook) {
  CanaryReport report;
  report.flags = ~0u;
  report.allowed_ok = report.policy_ok = true;
  report.hooks.fill(CanaryVerdict::denied);
  EXPECT_TRUE(report.ok());
  for (const CanaryVerdict bad : {CanaryVerdict::not_run, CanaryVerdict::not_denied})
    for (const Hook& hook : hooks()) {
      if (hook.kind == HookKind::flows) continue;  // that a flow is not recorded lets nothing through
      CanaryReport one = report;
      one.hooks[hook.id] = bad;
      EXPECT_FALSE(one.ok()) << hook.name;
    }
  report.policy_ok = false;
  EXPECT_FALSE(report.ok());
  report.policy_ok = true;
  report.allowed_ok = false;
  EXPECT_FALSE(report.ok());
}

}  // namespace
}  // namespace sbpf::agent
