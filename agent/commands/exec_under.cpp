// SPDX-License-Identifier: Apache-2.0
// `sbpf exec --policy`: another program in a sandbox that runs already, in a sandbox of its own within that one. Both
// policies are asked. Any failure undoes all that was done before it, and nothing ran.
#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "agent/agent.h"
#include "agent/commands/exec_parts.h"
#include "agent/commands/exec_start.h"
#include "agent/launch/bring_up.h"
#include "agent/launch/stdio.h"
#include "agent/launch/supervisor.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/mount_view.h"
#include "agent/sandbox/policy_text.h"
#include "agent/verify/verify.h"

namespace sbpf::agent {
namespace {

bool leads_elsewhere(const policy::Network& network) {
  const auto leads = [](const auto& entry) { return entry.via.has_value(); };
  return std::ranges::any_of(network.connect, leads) || std::ranges::any_of(network.hosts, leads);
}

// What only a sandbox has that is in no other.
Result<void> check_own_policy(const policy::Policy& policy) {
  if (!policy.secrets.empty())
    return fail("secrets_not_handed", "process.secrets: a sandbox within another is handed no secret",
                "leave secrets to the policy of `sbpf run`");
  if (!policy.network.hosts.empty())
    return fail("host_names_unenforceable", "network.connect: host names need a resolver, which only `sbpf run` starts",
                "list addresses, or leave names to the sandbox's own policy");
  // The other policy would be asked about the proxy, and not about what is asked of the proxy.
  if (leads_elsewhere(policy.network))
    return fail("usage", "network.connect: `via` is for the policy of a sandbox that is in no other", "leave it out");
  return {};
}

template <typename Number>
bool holds(const std::optional<Number>& outer, const std::optional<Number>& wanted) {
  return !wanted || (outer && *outer <= *wanted);
}

// A cgroup with processes hands no limits down: those of the sandbox hold for all in it.
Result<void> check_limits(const policy::Limits& outer, const policy::Limits& wanted) {
  const char* key = !holds(outer.processes, wanted.processes)         ? "processes"
                    : !holds(outer.memory_bytes, wanted.memory_bytes) ? "memory"
                    : !holds(outer.cpu_millis, wanted.cpu_millis)     ? "cpu"
                                                                      : nullptr;
  if (key == nullptr) return {};
  return fail("limit_unenforceable",
              fmt::format("process.limits.{}: within a sandbox its own limit holds, which is none or allows more", key),
              "set it in the policy of the sandbox, or leave it out here");
}

// From the policy's paths, as the sandbox's program has them, to the proof that it is in force.
Result<Status> confine_inner(BringUp& up, const LiveSandbox& outer, const std::string& name,
                             const policy::Policy& policy, WalkedPaths& walked_paths) {
  const Cgroup& cgroup = up.cgroup();
  auto image = compile_for(up.kernel(), outer.cgroup, policy, 1,
                           {.before = &outer.image, .kept = &outer.kept, .walked_paths = &walked_paths});
  if (!image) return tl::unexpected<Error>(image.error());
  auto stdio = inspect_stdio(*image, {0, 1, 2});
  if (!stdio) return tl::unexpected<Error>(stdio.error());
  // Not the outer one's loopback: by that it would reach what is relayed into it, unasked.
  const SandboxSpec spec{name, SBPF_SANDBOX_ATTACHED, *stdio};
  const auto set_up = [&] {
    const JournalEntry change(up.kernel(), JournalEntry::set_up, cgroup.id(), name);
    return up.set_up(cgroup, spec, *image);
  }();
  if (!set_up) return tl::unexpected<Error>(set_up.error());
  auto status = up.prove(cgroup, true, [&](const Status& now) { return may_start(now, policy.mode); });
  if (status && !up.was_swapped()) keep_policy_text(cgroup.id(), policy, walked_paths);
  return status;
}

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
  const auto status = confine_inner(up, outer, name, policy, running.walked_paths);
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
  if (auto fit = check_own_policy(policy); !fit) return tl::unexpected<Error>(fit.error());
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
  if (auto fit = check_limits(outer->kept.policy.limits, policy.limits); !fit)
    return tl::unexpected<Error>(fit.error());
  policy.limits.processes.reset();  // its cgroup has none: the outer one's hold
  policy.limits.memory_bytes.reset();
  policy.limits.cpu_millis.reset();
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
