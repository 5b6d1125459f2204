// SPDX-License-Identifier: Apache-2.0
// Cgroups of resolvers and relays: limited, and beside sbpf's root cgroup, because below that every task outside a
// sandbox is denied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/host/cgroup.h"

namespace sbpf::agent {

// The name of the cgroup of a sandbox's relay. That of its resolver has the sandbox's.
std::string relay_of(const std::string& sandbox);

// Makes one of this name, for a process with so much memory. A controller that the hierarchy lacks limits nothing.
// Errors: "no_cgroup2", "cgroup_create", and the like. The caller holds the host lock until there is a process in it.
Result<Cgroup> make_resolver_cgroup(const std::string& name, std::uint64_t memory_bytes);

// Nothing: there is none of this name. Errors: it cannot be told.
Result<std::optional<Cgroup>> open_resolver_cgroup(const std::string& name);

// Removes those in which nothing runs, as a killed supervisor leaves them; and what holds them, when it is empty. The
// caller holds the host lock.
void collect_resolver_cgroups();

}  // namespace sbpf::agent
