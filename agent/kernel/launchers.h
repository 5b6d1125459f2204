// SPDX-License-Identifier: Apache-2.0
// The executables of the host's service manager: bpf/launch.h says what for.
#pragma once

#include <string>

#include "agent/kernel/kernel.h"
#include "base/result.h"

namespace sbpf::agent {

// Is this what a service manager's executable is called, as /proc/1/exe shows it? Others launch nothing that is not judged. Pure.
bool is_manager_path(const std::string& path);

// Which files they are now, in words of no meaning; another answer, and they were replaced.
std::string launchers_now();

// Tells the programs which they are. Errors: "inodes".
Result<void> note_launchers(const Kernel& kernel);

}  // namespace sbpf::agent
