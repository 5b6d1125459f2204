// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/inner_sandbox.h"

#include <fmt/core.h>
#include <algorithm>
#include <optional>

#include "agent/launch/stdio.h"
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

}  // namespace

Result<void> check_inner_policy(const policy::Policy& policy) {
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

namespace {
template <typename Number>
bool holds(const std::optional<Number>& outer, const std::optional<Number>& wanted) {
  return !wanted || (outer && *outer <= *wanted);
}

}  // namespace

Result<void> give_limits_up(policy::Limits& wanted, const policy::Limits& outer) {
  const char* key = !holds(outer.processes, wanted.processes)         ? "processes"
                    : !holds(outer.memory_bytes, wanted.memory_bytes) ? "memory"
                    : !holds(outer.cpu_millis, wanted.cpu_millis)     ? "cpu"
                                                                      : nullptr;
  wanted.processes.reset();
  wanted.memory_bytes.reset();
  wanted.cpu_millis.reset();
  if (key == nullptr) return {};
  return fail("limit_unenforceable",
              fmt::format("process.limits.{}: within a sandbox its own limit holds, which is none or allows more", key),
              "set it in the policy of the sandbox, or leave it out here");
}

Result<Status> confine_inner(BringUp& up, const LiveSandbox& outer, const std::string& name,
                             const policy::Policy& policy, const std::array<int, 3>& stdio_fds,
                             WalkedPaths& walked_paths) {
  const Cgroup& cgroup = up.cgroup();
  auto image = compile_for(up.kernel(), outer.cgroup, policy, 1,
                           {.before = &outer.image, .kept = &outer.kept, .walked_paths = &walked_paths});
  if (!image) return tl::unexpected<Error>(image.error());
  auto stdio = inspect_stdio(*image, stdio_fds);
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

}  // namespace sbpf::agent
