// SPDX-License-Identifier: Apache-2.0
// The copying of `stage`: from descriptors to descriptors. Internal to stage.cpp.
#pragma once

#include <sys/stat.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stage/stage.h"
#include "base/fd.h"

namespace sbpf::agent::internal {

// Where the text of a symbolic link can lead, from a directory that lies `depth` levels beneath the top of its tree.
enum class LinkForm {
  leaves,   // absolute, or more ".." than levels
  plain,    // ".." at its start only: whatever exists there, now or later, it stays beneath the top
  winding,  // ".." after a name: where it leads depends on what the name is
};
LinkForm link_form(std::string_view target, std::size_t depth);

// Copies one source within the limits of the options, and counts.
class Copier {
 public:
  explicit Copier(const StageOptions& options) : options_(options) {}

  // The contents of a regular file, from a descriptor of O_PATH into an empty file. `info` is its status.
  Result<void> copy_file(int from, int to, const struct stat& info);

  // All that is in a directory, from a descriptor of O_PATH into an empty directory. Then every symbolic link of the
  // copy stays beneath `to`.
  Result<void> copy_tree(int from, int to);

  const Staged& counts() const { return counts_; }

 private:
  Result<void> copy_directory(int from, int to, std::size_t depth);
  Result<void> copy_entry(int from_dir, int to_dir, const std::string& name, std::size_t depth);
  Result<void> copy_child_file(int from, int to_dir, const std::string& name, const struct stat& info);
  Result<void> copy_child_directory(int from, int to_dir, const std::string& name, const struct stat& info,
                                    std::size_t depth);
  Result<void> copy_link(int from, int to_dir, const std::string& name, std::size_t depth);
  Result<void> check_winding_links(int top);
  Result<void> copy_range(int from, int to, off_t begin, off_t end);
  Result<off_t> copy_some(int from, int to, off_t at, off_t end);
  Result<void> count_entry();
  Result<void> go_on() const;
  // The path of what is being copied, for messages: SRC and what lies beneath it.
  std::string shown() const { return inside_.empty() ? options_.source : options_.source + "/" + inside_; }

  const StageOptions& options_;
  Staged counts_;
  std::string inside_;                // path beneath the source
  std::vector<std::string> winding_;  // paths beneath the source
  struct stat top_ {};                // of the copy: it must not be copied into itself
  bool in_kernel_ = true;             // copy_file_range(2) works between these file systems
  std::array<char, 1 << 16> buffer_{};
};

}  // namespace sbpf::agent::internal
