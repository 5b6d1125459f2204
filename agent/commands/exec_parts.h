// SPDX-License-Identifier: Apache-2.0
// Another program in a sandbox that runs: what root's `sbpf exec` has in common with that of users, whose process sbpfd
// moves into their sandbox.
#pragma once

#include <array>
#include <string>

#include "agent/agent.h"
#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "agent/launch/spawn.h"
#include "agent/launch/supervisor.h"
#include "agent/sandbox/policy_text.h"
#include "policy/image.h"

namespace sbpf::agent {

// The sandbox's status, with a canary, if a program may start in it. Needs no lock. Errors: "isolation_not_active" (also
// of a frozen one, in which it would wait); "usage" (an attached cgroup); those of status().
Result<Status> proven_to_start_in(const std::string& name);

// The sandbox and its policy in force.
struct LiveSandbox {
  sbpf_sandbox record;
  Cgroup cgroup;
  policy::Image image;
  KeptPolicy kept;
};

// As it is under the host lock, which the caller holds until the program's process is in it: who takes the sandbox down
// waits meanwhile. `proven`: as it was before. Errors: as above, without a canary; "sandbox_ended" (another one has its
// name); "no_policy" (nobody knows how its program began).
Result<LiveSandbox> find_live(const Kernel& kernel, const Status& proven);

// The process that has been there longest: the sandbox lasts as long as the program that `run` started, so no other is
// older. Of those in the mount namespace of this number. Errors: "no_namespace"; "cgroup_io".
Result<pid_t> first_program(const Cgroup& cgroup, std::uint64_t mounts);

// May a program with these as stdio start in it? Only what the sandbox was handed when it began is known to the hooks.
// Errors: "inherited_socket".
Result<void> check_stdio_of(const LiveSandbox& sandbox, const std::array<int, 3>& fds);

// Has the sandbox ended, of which a program was killed? Who ends it kills first: it is looked at for a moment.
bool has_ended(const Cgroup& cgroup);

// Once a program has ended, by `result.signal`: whether the sandbox did, and what was denied since it was found so.
void look_back(const Kernel& kernel, const LiveSandbox& sandbox, ExecResult& result);

// Waits for the end of a child, and forwards signals to it meanwhile; of `options` the callbacks count, and the name.
ExecResult wait_for_program(const Spawned& program, const ForwardedSignals& signals, const ExecOptions& options);

}  // namespace sbpf::agent
