// SPDX-License-Identifier: Apache-2.0
// Cgroups of resolvers and relays: limited, and beside sbpf's root cgroup, because below that every task outside a
// sandbox is denied.
#pragma once

#include <string>

#include "agent/host/cgroup.h"

namespace sbpf::agent {

// Makes one of this name: the sandbox's for its resolver, and that with ".relay" for its relay. A controller that the hierarchy lacks limits nothing.
// Errors: "no_cgroup2", "cgroup_create", and the like. The caller holds the host lock until there is a process in it.
Result<Cgroup> make_resolver_cgroup(const std::string& name);

// Removes those in which nothing runs, as a killed supervisor leaves them; and what holds them, when it is empty. The
// caller holds the host lock.
void collect_resolver_cgroups();

}  // namespace sbpf::agent
