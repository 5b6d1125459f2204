// SPDX-License-Identifier: Apache-2.0
// The executables of the host's service manager: bpf/launch.h says what for.
#pragma once

#include <string>

#include "agent/kernel/kernel.h"
#include "base/result.h"

namespace sbpf::agent {

// Is this the name of a service manager's executable, as /proc/1/exe shows it? Everything that other executables launch
// is judged. Pure.
bool is_manager_path(const std::string& path);

// Identifies the files that they are now. The text has no meaning of its own; if it changes, the files were replaced.
std::string launchers_now();

// Tells the programs which files these are. Errors: "inodes".
Result<void> note_launchers(const Kernel& kernel);

}  // namespace sbpf::agent
