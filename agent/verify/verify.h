// SPDX-License-Identifier: Apache-2.0
// The state of a sandbox, read from the kernel.
#pragma once

#include <optional>
#include <string>

#include "agent/kernel/kernel.h"
#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/status.h"
#include "agent/verify/probe.h"

namespace sbpf::agent {

// Reads back every hook, the policy and the record. With `canary`, also runs one: the caller then holds the host lock,
// so that nobody changes the sandbox meanwhile; a caller that waits for canaries of running sandboxes uses prove().
// Never fails: a missing part is shown as a hook not attached or as a degradation with its reason, and makes the
// sandbox inactive. A part that cannot be told (exhaustion, a hidden hierarchy) makes it degraded.
Status read_status(const Kernel& kernel, const sbpf_sandbox& record, bool canary, const HostProbe& host);

// The same with a canary, and without the lock. Nothing: somebody changed the sandbox meanwhile, or the programs of
// all, or took it down, and what was seen is neither of before nor of after.
std::optional<Status> prove(const Kernel& kernel, const sbpf_sandbox& record, const HostProbe& host);

// The same, again and again until nothing changes meanwhile; where that never is so, for 20 s, the status says that
// there was no canary.
Status proven_status(Kernel& kernel, const sbpf_sandbox& record, const HostProbe& host);

// The same with a look at the host of its own.
Status read_status(const Kernel& kernel, const sbpf_sandbox& record, bool canary);
HostProbe probe_host(const Kernel& kernel);

// Notes in a status what was found lost, beside what it says itself.
void note_lost(Status& status, const std::vector<Lost>& lost);

// Could every part of it be told?
bool is_clear(const Status& status);

// May a program start in a sandbox with this status?
bool may_start(const Status& status, policy::Mode mode);

// For a person: the first reason, and what the canary found.
std::string why_not_active(const Status& status);

// One hook of the sandbox's cgroup, read back by its number alone: as long as a Kernel is open, no other program gets
// it. `listed` is asked where its pin cannot be opened; link_id is 0 then.
HookStatus cgroup_hook(const Kernel& kernel, const Hook& hook, const sbpf_sandbox& record, ListedLinks& listed);

}  // namespace sbpf::agent
