// SPDX-License-Identifier: Apache-2.0
// What is under way with a sandbox, kept in bpffs while it is: should sbpf be killed in the middle, the next one to hold the
// host lock finds it there and mends it, so that the sandbox is as it was or as it should become (docs/DESIGN.md).
#pragma once

#include <cstdint>
#include <string>

#include "agent/kernel.h"
#include "base/result.h"

namespace sbpf::agent {

class Intent {
 public:
  enum class What {
    attach,  // mended by taking the sandbox down: nobody was told of it yet
    detach,  // mended by taking the rest of it down
    frozen,  // sbpf froze the cgroup, and thaws it again: mended by thawing it, after the others
    swap     // mended by bringing what goes with a policy to the policy that is published
  };

  // Written before the first step. The caller holds the host lock, and the programs are pinned. Errors: "pin" with errno.
  static Result<Intent> begin(What what, std::uint64_t cgroup_id, const std::string& name);

  Intent(Intent&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Intent& operator=(Intent&&) = delete;
  // Done, or undone by whoever began it: nothing is left to mend.
  ~Intent();

 private:
  explicit Intent(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Mends what killed ones left: what is above, pins of sandboxes that were not finished, and entries of maps that no sandbox
// has. The caller holds the host lock. What cannot be mended stays for the next one.
void mend(const Kernel& kernel);

}  // namespace sbpf::agent
