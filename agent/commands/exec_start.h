// SPDX-License-Identifier: Apache-2.0
// How a program of root's `sbpf exec` begins in a live sandbox.
#pragma once

#include <cstdint>
#include <string>

#include "agent/agent.h"
#include "agent/commands/exec_parts.h"
#include "agent/host/cgroup.h"
#include "agent/launch/spawn.h"
#include "policy/policy.h"

namespace sbpf::agent {

// What is found and read without the host lock, as it may wait for others: a file or a directory of users.
struct ExecStart {
  Status proven;             // of the sandbox
  std::uint32_t generation;  // of the policy in force, by which the program begins
  Launch launch;
  RunOptions program;  // its words and its environment
};

// Looks at the sandbox, with a canary, and reads how a program begins in it. `own`: a policy of the program's alone, or
// nullptr; then the program begins by both: with the capabilities that both leave, all limits and all filters. Errors:
// "usage", those of agent.h: exec().
Result<ExecStart> prepare_exec(const std::string& name, const ExecOptions& options, const policy::Policy* own);

// Starts the program in this cgroup, which is the sandbox's or one in it. The caller holds the host lock: who takes the
// sandbox down waits meanwhile. Errors: "busy" (its policy was changed meanwhile), "inherited_socket", "no_namespace",
// "escaped_tasks"; those of spawn().
Result<Spawned> start_exec(const Kernel& kernel, const LiveSandbox& sandbox, const Cgroup& cgroup,
                           const ExecStart& start);

}  // namespace sbpf::agent
