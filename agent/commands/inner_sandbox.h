// SPDX-License-Identifier: Apache-2.0
// A sandbox within another, under a policy of its own: `sbpf exec --policy`. Both policies are asked.
#pragma once

#include <array>
#include <string>

#include "agent/commands/exec_parts.h"
#include "agent/launch/bring_up.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Has the policy only what a sandbox within another can have? Errors: "secrets_not_handed", "host_names_unenforceable",
// "usage".
Result<void> check_inner_policy(const policy::Policy& policy);

// Takes from `wanted` what a cgroup below one with processes cannot have: those of the sandbox hold for all in it.
// Errors: "limit_unenforceable": they allow more than was wanted.
Result<void> give_limits_up(policy::Limits& wanted, const policy::Limits& outer);

// From the policy's paths, as the outer sandbox's program has them, to the proof that it is in force, in up.cgroup().
// `stdio_fds`: of what will run there. Errors: those of compile_for(), BringUp::set_up() and BringUp::prove();
// "inherited_socket".
Result<Status> confine_inner(BringUp& up, const LiveSandbox& outer, const std::string& name,
                             const policy::Policy& policy, const std::array<int, 3>& stdio_fds,
                             WalkedPaths& walked_paths);

}  // namespace sbpf::agent
