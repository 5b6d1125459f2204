// SPDX-License-Identifier: Apache-2.0
// The answer to a loss of a sandbox's isolation, by whichever process sees it first: the supervisor of `run`, or the
// watch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "policy/policy.h"

namespace sbpf::agent {

struct LostSandbox {
  std::string name;
  std::uint64_t cgroup_id = 0;  // 0: nothing was confined yet, so nothing was moved out either
  bool kept = false;            // others start in its cgroup later: SBPF_SANDBOX_KEPT
  // Of the policy in force; if there is none, of the last valid policy that was read.
  policy::Mode mode = policy::Mode::enforce;
  policy::OnLoss on_loss = policy::OnLoss::freeze;
  std::string reason;  // for the host's log
};

struct Answer {
  std::string done = "alerted";  // or "frozen", "killed"
  std::optional<Error> failed;   // why it is not done
};

// Freezes or kills the processes in the cgroup, as the policy says, and kills those that were moved out of it. Under an
// audit policy it only reports. Waits for neither, because other sandboxes are due, and notes it in the host's log.
// `cgroup` is null where it cannot be opened; `kernel` where no programs are loaded.
Answer answer_loss(const Kernel* kernel, const Cgroup* cgroup, const LostSandbox& lost);

}  // namespace sbpf::agent
