// SPDX-License-Identifier: Apache-2.0
// Paths of sbpf's objects that outlive a process, and the names of its cgroups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbpf::agent {

inline constexpr std::string_view kPinRoot = "/sys/fs/bpf/sbpf";
inline constexpr std::string_view kLockFile = "/run/sbpf.lock";
inline constexpr std::string_view kRootCgroupName = "sbpf";
// Executables that an upgrade kept (docs/GUARD.md).
inline constexpr std::string_view kKeptAgents = "/usr/lib/sbpf/agents";

// Each set of programs that was loaded has a number and a directory of its own below kPinRoot, and the symbolic link
// `now` names the one in force: by this link an upgrade replaces the whole set at once.
inline constexpr std::string_view kLoadedPrefix = "loaded-";
std::string loaded_name(std::uint32_t number);  // of its directory
// The number of those in force; 0, that of the first, if `now` does not tell.
std::uint32_t number_in_force();

}  // namespace sbpf::agent
