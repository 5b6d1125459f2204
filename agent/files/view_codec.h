// SPDX-License-Identifier: Apache-2.0
// The result of a look-up, or its error, packed for another process.
#pragma once

#include <string>

#include "base/result.h"
#include "policy/filesystem.h"

namespace sbpf::agent {

// Never empty. Pure, both.
std::string packed(const Result<policy::FsView>& view);
// Errors: the one that was packed; "fs_view": this was not packed.
Result<policy::FsView> unpacked(const std::string& text);

}  // namespace sbpf::agent
