// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/loss_answer.h"

#include <fmt/core.h>

#include "agent/host/audit.h"
#include "agent/kernel/guard.h"
#include "agent/sandbox/escaped_tasks.h"

namespace sbpf::agent {

Answer answer_loss(const Kernel* kernel, const Cgroup* cgroup, const LostSandbox& lost) {
  Answer answer;
  if (cgroup != nullptr && lost.mode == policy::Mode::enforce && lost.on_loss != policy::OnLoss::alert) {
    const bool freeze = lost.on_loss == policy::OnLoss::freeze;
    const auto done = freeze      ? cgroup->write("cgroup.freeze", "1")
                      : lost.kept ? cgroup->kill_processes()
                                  : cgroup->write("cgroup.kill", "1");
    if (done)
      answer.done = freeze ? "frozen" : "killed";
    else
      answer.failed = done.error();
    // Who is not in the cgroup any more can be neither frozen nor killed with it.
    if (kernel != nullptr && lost.cgroup_id != 0) kill_escaped_tasks(*kernel, lost.cgroup_id);
  }
  audit(fmt::format("isolation of sandbox {} was lost ({}): {}", lost.name, lost.reason, answer.done));
  return answer;
}

}  // namespace sbpf::agent
