// SPDX-License-Identifier: Apache-2.0
// `sbpf adopt` into a live sandbox: what `exec` does for root, done by the service for a user, with or without a policy
// of the program's own.
#include <fmt/core.h>
#include <algorithm>
#include <optional>

#include "agent/agent.h"
#include "agent/commands/adopt_parts.h"
#include "agent/commands/exec_parts.h"
#include "agent/commands/inner_sandbox.h"
#include "agent/files/namespaces.h"
#include "agent/sandbox/escaped_tasks.h"
#include "agent/sandbox/journal.h"

namespace sbpf::agent {
namespace {

// Refused before the lock is waited for: a process that does not stop keeps its caller waiting, and nobody else.
Result<Status> may_come_into(const std::string& name, const AdoptOptions& options) {
  if (user_of_run(name) != std::optional<uid_t>(options.uid))
    return fail("not_permitted", fmt::format("sandbox {} is not a run of uid {}", name, options.uid),
                "`sbpf list` has your own");
  if (auto held = HeldProcess::hold(options.pidfd, owner_of(options)); !held)
    return tl::unexpected<Error>(held.error());
  return proven_to_start_in(name);
}

// A process that may come into this one. The caller holds the host lock.
struct Comer {
  HeldProcess process;
  std::array<Fd, 3> stdio;
  std::array<int, 3> fds() const { return {stdio[0].get(), stdio[1].get(), stdio[2].get()}; }
};

Result<Comer> hold_comer(const Kernel& kernel, const LiveSandbox& sandbox, const AdoptOptions& options) {
  auto process = hold_outside(options, kernel);
  if (!process) return tl::unexpected<Error>(process.error());
  // The paths of the policy were looked up there.
  if (mount_namespace(std::to_string(process->pid())) != sandbox.kept.walked_paths.mounts)
    return fail("process_unfit", "the process has other mounts than the sandbox's program",
                "call from where the sandbox was started");
  const auto first = first_program(sandbox.cgroup, sandbox.kept.walked_paths.mounts);
  if (!first) return tl::unexpected<Error>(first.error());
  if (!process->shares_network(*first))
    return fail("process_unfit", "the process is in another network than the sandbox's program",
                "call from where the sandbox was started");
  auto stdio = process->stdio();
  if (!stdio) return tl::unexpected<Error>(stdio.error());
  Comer comer{std::move(*process), std::move(*stdio)};
  if (auto fit = check_stdio_of(sandbox, comer.fds()); !fit) return tl::unexpected<Error>(fit.error());
  return comer;
}

Result<void> move_in(const Kernel& kernel, const Comer& comer, const Cgroup& cgroup) {
  if (auto moved = comer.process.move_to(cgroup); !moved) return moved;
  if (auto labelled = find_escaped_tasks(kernel, cgroup.id()); !labelled)
    return tl::unexpected<Error>(labelled.error());
  return {};
}

}  // namespace

Result<void> adopt_into_live(const AdoptOptions& options) {
  const auto proven = may_come_into(options.name, options);
  if (!proven) return tl::unexpected<Error>(proven.error());
  auto host = open_locked();
  if (!host) return tl::unexpected<Error>(host.error());
  auto sandbox = find_live(host->kernel, *proven);
  if (!sandbox) return tl::unexpected<Error>(sandbox.error());
  {
    auto comer = hold_comer(host->kernel, *sandbox, options);
    if (!comer) return tl::unexpected<Error>(comer.error());
    if (auto moved = move_in(host->kernel, *comer, sandbox->cgroup); !moved) return moved;
    host->lock.reset();
  }  // it goes on
  options.on_adopted(*proven);
  return {};
}

Result<void> adopt_under(const std::string& outer_name, policy::Policy policy, const AdoptOptions& options) {
  if (auto fit = check_for_user(policy, options.uid); !fit) return fit;
  if (auto fit = check_inner_policy(policy); !fit) return fit;
  const auto proven = may_come_into(outer_name, options);
  if (!proven) return tl::unexpected<Error>(proven.error());
  auto begun = BringUp::begin();
  if (!begun) return tl::unexpected<Error>(begun.error());
  BringUp& up = **begun;
  const auto others = collect_some_garbage(up.kernel(), options.name);
  if (auto free = check_free(others, options.name); !free) return free;
  const auto outer = find_live(up.kernel(), *proven);
  if (!outer) return tl::unexpected<Error>(outer.error());
  if (auto fit = give_limits_up(policy.limits, outer->kept.policy.limits); !fit) return fit;
  auto held = hold_comer(up.kernel(), *outer, options);
  if (!held) return tl::unexpected<Error>(held.error());
  std::optional<Comer> comer(std::move(*held));
  collect_orphans_in(up.kernel(), others, outer->cgroup);
  if (auto made = up.make_cgroup_in(outer->cgroup, options.name, {}); !made) return made;
  WalkedPaths walked_paths;
  auto status = confine_inner(up, *outer, options.name, policy, comer->fds(), walked_paths);
  if (!status) return tl::unexpected<Error>(status.error());
  // Others had the host lock while the canary ran.
  const auto now = find_live(up.kernel(), *proven);
  if (!now) return tl::unexpected<Error>(now.error());
  if (auto outside = check_outside(comer->process, up.kernel()); !outside) return outside;
  std::optional<JournalEntry> change(std::in_place, up.kernel(), JournalEntry::set_up, up.cgroup().id(), options.name);
  // It is alone until here, so a failure before kills nobody.
  if (auto moved = move_in(up.kernel(), *comer, up.cgroup()); !moved) return moved;
  up.keep_all();
  change.reset();
  up.release_lock();
  status->processes = 1;
  comer.reset();  // it goes on
  options.on_adopted(*status);
  return {};
}

}  // namespace sbpf::agent
