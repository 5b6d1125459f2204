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

// Where the sandbox's queries arrive: in its network namespace.
struct ResolverSockets {
  std::vector<dns::Listener> listeners;
  std::uint16_t port4 = 0, port6 = 0;  // as SandboxResolver's
};

// In this thread's network namespace. In one of the sandbox's own, of whose loopback it uses every address, they are
// also in the place of those of /etc/resolv.conf that are on loopback, but for those that the policy lists: the hooks
// lead no query away from there. `own`: the policy's, in such a network; else null. Errors: "resolver" with errno.
Result<ResolverSockets> listen_for_queries(const policy::Network* own);

// Starts it for the sandbox, in a limited cgroup of its own (agent/host/resolver_cgroup.h); it asks from this thread's
// network namespace. When this returns it serves, with nothing but its sockets and the sandbox's own maps. They are to
// be put in place by set_up(). Preconditions: the policy has host names; the caller holds the host lock. Errors:
// "no_resolver" (nobody to ask), "resolver" (what could not be set up), those of start_helper().
Result<ResolverProcess> start_resolver(const policy::Policy& policy, const std::string& name, std::uint64_t cgroup_id,
                                       std::uint32_t names, ResolverSockets sockets);

// Puts the resolver's new messages into the sandbox's ring.
void relay_announcements(const Kernel& kernel, const Fd& told);

// Does the resolver of this sandbox live? Asked of the kernel: it holds a lock.
Seen resolver_lives(std::uint64_t cgroup_id);

}  // namespace sbpf::agent
