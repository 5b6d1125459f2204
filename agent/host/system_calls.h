// SPDX-License-Identifier: Apache-2.0
// System calls by name, those included that are newer than the libseccomp that sbpf was built with.
#pragma once

#include <optional>
#include <string>

namespace sbpf::agent {

// The number that the call has on this machine, or one below 0 where it is a call of other machines, which libseccomp
// leaves out. Nothing: no call has this name.
std::optional<int> system_call_number(const std::string& name);

// "ptrace"; "number 9999" where it has no name.
std::string system_call_name(int number);

}  // namespace sbpf::agent
