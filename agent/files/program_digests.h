// SPDX-License-Identifier: Apache-2.0
// Programs that a policy names by their contents (process.exec.sha256).
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// Is this open file (O_PATH will do) a regular one with these contents, and will it have them as long as it exists?
// Only fs-verity promises that: the kernel then lets nobody write to the file, and checks each page that it reads.
// Errors: "unenforceable" (no regular file, on overlayfs, or without fs-verity), "other_content", "digest" with errno.
Result<void> check_digest(const Fd& file, const std::string& sha256);

}  // namespace sbpf::agent
