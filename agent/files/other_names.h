// SPDX-License-Identifier: Apache-2.0
// Files with several names: a file that is denied under one name would be open by another.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// Names each file below `top`, which lies at `names`, that has more names than this one, or that is one of `renamed` by
// its number; `top` itself too, if it is a file. Symbolic links are neither followed nor named, other mounts are left
// out, and so is what lies deeper than the hooks walk (SBPF_FS_MAX_WALK). Files that vanish meanwhile are left out.
// `note` is told each directory before it is read. Errors: "fs_view" with the errno.
Result<void> each_file_with_other_names(const Fd& top, std::vector<std::string> names,
                                        const std::set<std::uint64_t>& renamed,
                                        const std::function<void(const std::string&)>& note,
                                        const std::function<void(const std::vector<std::string>&)>& found);

}  // namespace sbpf::agent
