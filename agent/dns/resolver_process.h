// SPDX-License-Identifier: Apache-2.0
// The resolver of a sandbox whose policy has host names: a process of its own beside the supervisor. docs/DNS.md
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/dns/resolver.h"
#include "agent/dns/sandbox_resolver.h"
#include "agent/host/helper_process.h"
#include "agent/kernel/kernel.h"
#include "base/seen.h"

namespace sbpf::agent {

struct ResolverProcess {
  SandboxResolver for_sandbox;  // for set_up()
  Fd told;                      // announcements, for relay_announcements()
  HelperProcess process;
};

// Starts it for the sandbox, in this thread's network namespace and a limited cgroup of its own
// (agent/host/resolver_cgroup.h); when this returns it serves, with nothing but its sockets and the sandbox's own maps.
// They are to be put in place by set_up(). Preconditions: the policy has host names; the caller holds the host lock.
// Errors: "no_resolver" (nobody to ask), "resolver" (what could not be set up), those of start_helper().
Result<ResolverProcess> start_resolver(const policy::Policy& policy, const std::string& name, std::uint64_t cgroup_id,
                                       std::uint32_t names);

// Puts the resolver's new messages into the sandbox's ring.
void relay_announcements(const Kernel& kernel, const Fd& told);

// Does the resolver of this sandbox live? Asked of the kernel: it holds a lock.
Seen resolver_lives(std::uint64_t cgroup_id);

}  // namespace sbpf::agent
