// SPDX-License-Identifier: Apache-2.0
// The canary: a process of ours in the sandbox, which each hook in turn must deny. Only the canary shows whether
// anything is enforced: without `bpf` in the kernel's LSM list, load and attach succeed and no program ever runs.
#pragma once

#include <array>
#include <string>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "policy/image.h"

namespace sbpf::agent {

// denied: for hooks that never deny it means that the hook saw the canary, and made its change. not_run: the host was
// short of something, before any hook of ours was asked: that proves nothing.
enum class CanaryVerdict : unsigned char { not_run, denied, not_denied, unreachable };

struct CanaryReport {
  std::array<CanaryVerdict, SBPF_HOOK_COUNT> hooks{};  // unreachable: the kernel lacks the protocol (IPv6 off)
  std::uint32_t flags = 0;                             // of the sandbox
  bool allowed_ok = false;                             // what every policy allows was allowed
  bool policy_ok = false;  // an endpoint got the verdict of the published policy and of those of the sandboxes above
  std::string detail;      // what went wrong, for a person; empty if nothing
  bool ok() const;
};

const char* to_string(CanaryVerdict verdict);

// The verdict that the canary's operation for a hook shows: `error` is its errno, 0 or canary::kUnreachable; `hit` is 1
// + the number of the hook that saw it, or 0.
CanaryVerdict canary_verdict(const Hook& hook, int error, std::uint32_t hit);

// Runs one canary in the cgroup, by the hooks of a sandbox with these flags. `image` is the policy read back from the
// kernel. There is one canary at a time on the host: this waits for its turn, at most 20 s, and not for the host lock.
// A canary that hangs gives way to the next after a second. Errors: "canary" (could not be started, or the host was
// short of what it takes; errno ETIME: it gave no answer, and no limit, freezer or busy processor accounts for that),
// "pid_namespace".
Result<CanaryReport> run_canary(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image,
                                std::uint32_t flags);

}  // namespace sbpf::agent
