// SPDX-License-Identifier: Apache-2.0
// `run --workspace DIR`: the directory is /workspace in the sandbox, whatever the host and other sandboxes have there.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

inline constexpr const char* kWorkspace = "/workspace";

// The directory, to be mounted elsewhere: a copy of its mount, with what is mounted beneath. No symbolic link may
// lead to it: whoever can write one could give the sandbox another. Errors: "usage", "private_places".
Result<Fd> open_workspace(const std::string& path);

// Puts it on /workspace in the mount namespace of this thread, which is no longer the host's, and goes there. The host
// gets an empty directory of that name, if it has none. Errors: "private_places".
Result<void> enter_workspace(const Fd& tree);

}  // namespace sbpf::agent
