// SPDX-License-Identifier: Apache-2.0
// `sbpf exec --policy`: another program in a sandbox that runs already, in a sandbox of its own within that one. Both
// policies are asked. Any failure undoes all that was done before it, and nothing ran.
#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "agent/agent.h"
#include "agent/commands/exec_parts.h"
#include "agent/commands/exec_start.h"
#include "agent/commands/inner_sandbox.h"
#include "agent/launch/bring_up.h"
#include "agent/launch/stdio.h"
#include "agent/launch/supervisor.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/mount_view.h"
#include "agent/sandbox/policy_text.h"
#include "agent/verify/verify.h"

namespace sbpf::agent {
namespace {

// What runs in it.
struct Inner {
  Fd mountinfo;  // as it was before the paths were looked up
  WalkedPaths walked_paths;
  std::unique_ptr<Supervisor> supervisor;
  Spawned program;
};

Result<Inner> start_inner(BringUp& up, const LiveSandbox& outer, const std::string& name, const policy::Policy& policy,
                          const ExecStart& beginning, const RunOptions& options) {
  Inner running;
  const auto first = first_program(outer.cgroup, outer.kept.walked_paths.mounts);
  if (!first) return tl::unexpected<Error>(first.error());
  running.mountinfo = Fd(::open(fmt::format("/proc/{}/mountinfo", *first).c_str(), O_RDONLY | O_CLOEXEC));
  if (auto made = up.make_cgroup_in(outer.cgroup, name, {}); !made) return tl::unexpected<Error>(made.error());
  const auto status = confine_inner(up, outer, name, policy, {0, 1, 2}, running.walked_paths);
  if (!status) return tl::unexpected<Error>(status.error());
  const auto record = find_record(up.kernel(), up.cgroup().id());
  if (!record) return fail("sandbox_setup", "the sandbox's record is gone");
  up.keep_programs();
  running.supervisor = std::make_unique<Supervisor>(up.kernel(), up.cgroup(), *record, *status, options);
  if (options.on_active) options.on_active(*status);
  // Others had the host lock while the canary ran.
  const auto now = find_live(up.kernel(), beginning.proven);
  if (!now) return tl::unexpected<Error>(now.error());
  auto program = start_exec(up.kernel(), *now, up.cgroup(), beginning);
  if (!program) return tl::unexpected<Error>(program.error());
  running.program = std::move(*program);
  return running;
}

}  // namespace

Result<ExecUnderResult> exec_under(const std::string& name, policy::Policy policy, const ExecOptions& options,
                                   RunOptions supervised) {
  if (auto fit = check_inner_policy(policy); !fit) return tl::unexpected<Error>(fit.error());
  const auto beginning = prepare_exec(name, options, &policy);
  if (!beginning) return tl::unexpected<Error>(beginning.error());
  auto begun = BringUp::begin();
  if (!begun) return tl::unexpected<Error>(begun.error());
  BringUp& up = **begun;
  const std::string own_name = make_up_name("exec");
  const auto others = collect_some_garbage(up.kernel(), own_name);
  if (auto free = check_new_name(others, own_name); !free) return tl::unexpected<Error>(free.error());
  const auto outer = find_live(up.kernel(), beginning->proven);
  if (!outer) return tl::unexpected<Error>(outer.error());
  if (auto fit = give_limits_up(policy.limits, outer->kept.policy.limits); !fit)
    return tl::unexpected<Error>(fit.error());
  supervised.argv = options.argv;
  collect_orphans_in(up.kernel(), others, outer->cgroup);
  auto running = start_inner(up, *outer, own_name, policy, *beginning, supervised);
  if (!running) return tl::unexpected<Error>(running.error());
  up.release_lock();

  running->supervisor->follow_mounts(std::move(running->mountinfo), {policy, std::move(running->walked_paths)});
  ExecUnderResult result{running->supervisor->wait(running->program), {}};
  result.sandbox.signal = result.program.signal;
  look_back(up.kernel(), *outer, result.sandbox);
  up.lock_for_rollback(supervised);
  return result;
}

}  // namespace sbpf::agent
