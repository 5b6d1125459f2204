// SPDX-License-Identifier: Apache-2.0
// Opens names that someone else chose, so that they cannot lead out of a directory.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// openat2(2) with O_CLOEXEC. Errors: errno.
Fd open_resolved(int dir, const std::string& path, int flags, std::uint64_t resolve);

// Opens a directory, O_PATH, to which no symbolic link leads. Errors: errno.
Fd open_directory_without_links(const std::string& path);

// Opens `path` beneath the directory `dir` by openat2(2): no "..", no symbolic link and no magic link leads out of it,
// however often the names are changed meanwhile. O_CLOEXEC is added; `resolve` is added to RESOLVE_BENEATH and
// RESOLVE_NO_MAGICLINKS. `shown` is what messages call the path.
// Errors: "path_escape", "no_such_source", "mount_point" (only with RESOLVE_NO_XDEV in `resolve`), "source_busy",
// "source_unreadable", "no_openat2".
Result<Fd> open_beneath(int dir, const std::string& path, int flags, std::uint64_t resolve, const std::string& shown);

// Whether this kernel has openat2(2), and nothing forbids it. Errors: "no_openat2".
Result<void> check_openat2();

// A descriptor for reading the file behind `path_fd`, which was opened with O_PATH: the same inode, even if its name
// now leads elsewhere. Never waits for a writer of a pipe or for the holder of a lease. Errors: "source_unreadable",
// "source_busy".
Result<Fd> reopen_for_reading(int path_fd, const std::string& shown);

// Removes a file, or a directory with all that is in it; walks by descriptors and follows no symbolic link. Gives the
// errno of the first failure, 0 if nothing is left; continues after a failure.
int remove_tree(int parent, const std::string& name);

}  // namespace sbpf::agent
