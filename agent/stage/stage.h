// SPDX-License-Identifier: Apache-2.0
// Copies files of an untrusted tree to a place on the host, and nothing from outside the tree. Needs neither BPF nor
// root.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace sbpf::agent {

inline constexpr std::uint64_t kStageMaxBytes = std::uint64_t{4} << 30;
inline constexpr std::uint64_t kStageMaxEntries = 100'000;
inline constexpr std::size_t kStageMaxDepth = 256;  // each level holds two descriptors; 1,024 is the usual limit

struct StageOptions {
  std::string root;         // a directory; its own path is the caller's and is resolved as any path
  std::string source;       // relative to the root: a file or a directory
  std::string destination;  // its directory must exist, and nobody else may write there; resolved as any path
  bool replace = false;     // what is at the destination gives way, in one step
  bool one_file_system = false;
  std::uint64_t max_bytes = kStageMaxBytes;  // of file contents, holes counted
  std::uint64_t max_entries = kStageMaxEntries;
  std::function<bool()> interrupted;  // asked now and then; true ends it with "interrupted"
};

struct Staged {
  std::uint64_t files = 0, directories = 0, links = 0;
  std::uint64_t bytes = 0;
  std::string left_over;  // with `replace`: where the rest of the old one is, if not all of it could be removed
};

// Copies the source to the destination, all of it or nothing: the copy is made under a temporary name beside the
// destination, synced, and takes its name in one step; after an error nothing is left. Modes are kept but for the
// set-id and sticky bits; owner is the caller; extended attributes and times are not copied; hard links become files.
//
// Symbolic links on the way to the source are followed as long as they stay beneath the root. Those inside a copied
// directory are copied as links if they stay beneath that directory, and are errors otherwise.
//
// Errors: "usage" (a destination without a name), "path_escape", "not_regular", "too_large", "no_such_source",
// "mount_point", "destination_exists", "destination_in_source", "no_such_directory", "no_such_root", "no_openat2",
// "source_busy", "source_changed", "source_unreadable", "write_failed", "interrupted".
Result<Staged> stage(const StageOptions& options);

}  // namespace sbpf::agent
