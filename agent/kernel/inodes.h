// SPDX-License-Identifier: Apache-2.0
// Which inodes open descriptors are, by the kernel side's own reckoning.
#pragma once

#include <map>

#include "agent/kernel/kernel.h"
#include "policy/filesystem.h"

namespace sbpf::agent {

// The inodes of all open descriptors of this process, O_PATH ones included, by descriptor.
// Errors: "inodes" with errno (the iterator's pin is gone, or the kernel refuses it).
Result<std::map<int, policy::FsInode>> open_inodes(const Kernel& kernel);

}  // namespace sbpf::agent
