// SPDX-License-Identifier: Apache-2.0
// A cgroup that stands still while sbpf looks at what its tasks have open, and brings a policy over them.
#pragma once

#include <optional>
#include <string>

#include "agent/host/cgroup.h"
#include "agent/sandbox/journal.h"

namespace sbpf::agent {

// Frozen from freeze() to thaw() or destruction, if it was not frozen by its owner. If sbpf is killed in that time, the
// process that mends its change thaws the cgroup. The caller holds the host lock; the arguments outlive this.
class Freeze {
 public:
  Freeze(const Kernel& kernel, const Cgroup& cgroup, const std::string& name);
  Freeze(const Freeze&) = delete;
  Freeze& operator=(const Freeze&) = delete;
  ~Freeze() { thaw(); }
  // Errors: those of Cgroup::freeze().
  Result<void> freeze();
  void thaw();

 private:
  const Kernel& kernel_;
  const Cgroup& cgroup_;
  const std::string& name_;
  bool was_frozen_;
  bool frozen_ = false;
  std::optional<JournalEntry> change_;
};

}  // namespace sbpf::agent
