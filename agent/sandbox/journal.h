// SPDX-License-Identifier: Apache-2.0
// What sbpf is changing, kept in the memory of its programs while it is: should it be killed in the middle, the next one to
// hold the host lock finds it there and mends it, so that the sandbox is as it was or as it should become (docs/DESIGN.md).
// `sbpf watch` takes what is half done for no loss.
#pragma once

#include <cstdint>
#include <string>

#include "agent/kernel/kernel.h"

namespace sbpf::agent {

// From construction to destruction the change is under way; the caller holds the host lock. Changes of one sandbox nest.
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
  sbpf_change& slot_;
  std::uint32_t before_;
};

// Is this sandbox being changed, or did a killed one leave it so? Needs no lock.
bool is_changing(const Kernel& kernel, std::uint64_t cgroup_id);

// Are the programs of all being replaced, or did a killed one leave it so? Needs no lock.
bool is_upgrading(const Kernel& kernel);

// Is anything? Needs no lock.
bool is_changing(const Kernel& kernel);

// Mends what a killed one left: what is above, and pins of sandboxes that were not finished. The caller holds the host lock,
// and has begun no change. `kernel` knows the programs in force afterwards.
void mend(Kernel& kernel);

// The host lock, and the programs that are in force, mended. Errors: those of lock_host(); "no_such_sandbox": nothing is loaded, which is
// the same as no name of this kind to who asks for a sandbox; those of Kernel::open().
struct LockedHost {
  Fd lock;
  Kernel kernel;
};
Result<LockedHost> open_locked();

// Mends what a killed one left, if nobody holds the host lock; for who is asked again and again.
void mend_killed(Kernel& kernel);

}  // namespace sbpf::agent
