// SPDX-License-Identifier: Apache-2.0
// How a sandbox stands, read from the kernel.
#pragma once

#include "agent/kernel.h"
#include "agent/sandbox.h"

namespace sbpf::agent {

// Reads back every hook, the policy and the record. With `canary`, also runs one (the caller then holds the host lock).
// Never fails: what is missing is a hook not attached or a degradation with its reason, and makes it inactive; what cannot be
// told (exhaustion, a hierarchy that is hidden) makes it degraded.
Status read_status(const Kernel& kernel, const sbpf_sandbox& record, bool canary);

// The same without the policy's contents: the cheap pass that a supervisor makes each second. Absent: at least one is missing.
// `unclear` receives why it cannot be told.
Seen all_attached(const Kernel& kernel, const sbpf_sandbox& record, std::string& unclear);

// Could all of it be told?
bool is_clear(const Status& status);

// One hook of the sandbox's cgroup, read back by its number alone: as long as a Kernel is open, no other program gets it.
HookStatus cgroup_hook(const Kernel& kernel, const Hook& hook, const sbpf_sandbox& record);

}  // namespace sbpf::agent
