// SPDX-License-Identifier: Apache-2.0
// sbpf upgrade: other programs in the place of those in force, under live sandboxes.
#include <fmt/format.h>

#include "agent/agent.h"
#include "agent/host/audit.h"
#include "agent/kernel/kernel.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {

Result<bool> upgrade() {
  auto lock = lock_host();
  if (!lock) return tl::unexpected<Error>(lock.error());
  auto old = Kernel::open();
  if (!old) return tl::unexpected<Error>(old.error());
  mend(*old);
  if (old->is_of_this_executable()) return false;
  auto next = Kernel::load(&*old);
  if (!next) return tl::unexpected<Error>(next.error());
  // Before the first pin: of what it leaves when it is killed, too.
  const JournalEntry change(*old, JournalEntry::upgrade, 0, "");
  if (auto replaced = next->replace(*old, have_sandboxes_run); !replaced)
    return tl::unexpected<Error>(replaced.error());
  audit(fmt::format("other programs put in force: {}", programs_digest()));
  return true;
}

}  // namespace sbpf::agent
