// SPDX-License-Identifier: Apache-2.0
// The rights and the texts of rules for files, programs and sockets. Internal to policy/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "policy/filesystem.h"
#include "policy/policy.h"

namespace sbpf::policy::internal {

enum class FsKind { file, program, socket, link };

// SBPF_FS_READ, SBPF_FS_WRITE. Of a rule: on the host of `view`, which tells whether a place is private there.
__u32 rights_of(const FsRule& rule, const FsView& view);
__u32 rights_of(FsDefault fallback);

// The entries, with those of the host's directories that private places hide: by other mounts nothing of them is open
// that no rule names.
Result<FsEntries> without_hidden(const FsView& view, Result<FsEntries> entries);

// A rule, and where it is written; `rule`: its index among those of its kind, which is not that of links.
std::string rule_text(const Policy& policy, FsKind kind, std::uint32_t rule);

// The default of a kind, which decides if no rule does: "filesystem.default: deny".
std::string default_text(const Policy& policy, FsKind kind);

// Does it begin with the root, which exists, and has each component below it a name?
bool well_formed(const FsPath& path);

// The names after the last component that exists.
std::size_t missing_names(const FsPath& path);

// "fs_too_deep", of a rule's path that has too many such names. `rule`: its text.
tl::unexpected<Error> too_deep(const std::string& rule, const FsPath& path);

}  // namespace sbpf::policy::internal
