// SPDX-License-Identifier: Apache-2.0
// The change that sbpf is making, noted in the memory of its programs while it lasts. If sbpf is killed in the middle,
// the next holder of the host lock finds the entry and mends the change, so that the sandbox is as it was or as it
// should become (docs/DESIGN.md). For `sbpf watch` a half-done change is no loss.
#pragma once

#include <cstdint>
#include <string>

#include "agent/kernel/kernel.h"

namespace sbpf::agent {

// From construction to destruction the change is under way; the caller holds the host lock. Changes of one sandbox
// nest.
class JournalEntry {
 public:
  enum What : std::uint32_t {
    set_up = 1,     // mended by taking the sandbox down: nobody was told of it yet
    take_down = 2,  // mended by taking the rest of it down
    swap = 4,       // mended by bringing what goes with a policy to the policy that is published
    upgrade = 16,   // of no sandbox: the programs of all; mended by Kernel::mend_upgrade()
    frozen = 8      // sbpf froze the cgroup, and thaws it again: mended by thawing it, after the others
  };

  JournalEntry(const Kernel& kernel, What what, std::uint64_t cgroup_id, const std::string& name);
  ~JournalEntry();
  JournalEntry(const JournalEntry&) = delete;
  JournalEntry& operator=(const JournalEntry&) = delete;

 private:
  sbpf_journal& slot_;
  std::uint32_t before_;
};

// Is this sandbox being changed, or did a killed sbpf leave a change half done? Needs no lock.
bool is_changing(const Kernel& kernel, std::uint64_t cgroup_id);

// Are the programs of all being replaced, or did a killed sbpf leave that half done? Needs no lock.
bool is_upgrading(const Kernel& kernel);

// Is anything? Needs no lock.
bool is_changing(const Kernel& kernel);

// Mends the change of a killed sbpf: as above, and pins of unfinished sandboxes. The caller holds the host lock, and
// has begun no change. `kernel` knows the programs in force afterwards.
void mend(Kernel& kernel);

// The host lock, and the programs in force, mended. Errors: those of lock_host(); "no_such_sandbox": nothing is loaded,
// so there is no sandbox of any name; those of Kernel::open().
struct LockedHost {
  Fd lock;
  Kernel kernel;
};
Result<LockedHost> open_locked();

// Mends the change of a killed sbpf, if nobody holds the host lock; for callers that are called again and again.
void mend_killed(Kernel& kernel);

}  // namespace sbpf::agent
