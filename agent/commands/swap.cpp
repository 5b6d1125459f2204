// SPDX-License-Identifier: Apache-2.0
// `sbpf swap`: another policy on a live sandbox, in one step.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "agent/agent.h"
#include "agent/dns/resolver_rules.h"
#include "agent/files/fs_view.h"
#include "agent/host/limits.h"
#include "agent/launch/secrets.h"
#include "agent/sandbox/assigned.h"
#include "agent/sandbox/connections.h"
#include "agent/sandbox/freeze.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/mount_view.h"
#include "agent/sandbox/open_files.h"
#include "agent/sandbox/policy_text.h"
#include "agent/verify/verify.h"
#include "policy/loopback.h"

namespace sbpf::agent {
namespace {

// What the new policy asks for must be there already.
Result<void> check_begun_with(const sbpf_sandbox& record, const policy::Network& network, const policy::Image& image,
                              const Fd& resolver_rules) {
  if (image.header().host_names_id != 0 && !resolver_rules)
    return fail("host_names_unenforceable",
                "network.connect: the sandbox began without host names, or before an upgrade that changed how they are "
                "kept, so it has no resolver for this policy",
                "start it anew with this policy");
  if ((image.header().flags & SBPF_POLICY_RECORD) != 0 && (record.flags & SBPF_SANDBOX_FLOWS) == 0)
    return fail("flows_unenforceable", "network.record_flows: a swap cannot begin to record the flows of a sandbox",
                "start it anew with this policy, or remove record_flows");
  // Under a private loopback what is relayed could not be told from what the sandbox serves itself.
  if (record.own_netns != 0 && network.loopback == policy::Loopback::private_namespace &&
      policy::relayed_id(network) != record.relayed)
    return fail("relayed_unenforceable",
                "network.connect: the sandbox began with other ports that are relayed, and these cannot change under a "
                "private loopback",
                "start it anew with this policy; one without a private loopback closes what it does not list");
  return {};
}

// Killed while the cgroup is frozen, they do nothing more. Errors: "cgroup_kill".
Result<void> end_holders(const Cgroup& cgroup, const OpenFiles& held) {
  using namespace std::chrono_literals;
  for (const pid_t pid : held.holders) (void)::kill(pid, SIGKILL);
  const auto patience = std::chrono::steady_clock::now() + 10s;
  while (true) {
    auto left = cgroup.processes();
    if (!left) return tl::unexpected<Error>(left.error());
    if (std::ranges::none_of(*left, [&](pid_t pid) { return held.holders.contains(pid); })) return {};
    if (std::chrono::steady_clock::now() > patience)
      return fail("cgroup_kill", fmt::format("{} still has processes after SIGKILL that hold files", cgroup.path()),
                  "a process in uninterruptible sleep holds it", ETIMEDOUT);
    std::this_thread::sleep_for(1ms);
  }
}

// Until it is thawed, the sandbox opens no files and gives none another name. Errors: "cgroup_freeze".
Result<void> stand_still(Freeze& freeze, const policy::Policy& policy, const SwapOptions& options) {
  if (!policy::has_paths(policy)) return {};
  auto frozen = freeze.freeze();
  return options.keep_open_files ? Result<void>() : frozen;
}

bool has_kept_files(const policy::Image* image) {
  return image && (image->header().flags & SBPF_POLICY_KEPT_FILES) != 0;
}

// Files that are open or mapped are judged no more: those that the old policy allowed and the new one forbids must go,
// or be accepted. What was accepted over the old one is forbidden by it, too, and goes with the others. The sandbox
// stands still. Errors: "open_files", "cgroup_kill".
Result<OpenFiles> take_away_files(const Kernel& kernel, const Cgroup& cgroup, const policy::Image* before,
                                  const policy::Image& after, const SwapOptions& options) {
  const bool accepted = has_kept_files(before);
  auto held = forbidden_files(kernel, cgroup, after, accepted && options.evict ? nullptr : before);
  if (!held || held->files.empty() || options.keep_open_files) return held;
  if (options.evict) {
    if (auto ended = end_holders(cgroup, *held); !ended) return tl::unexpected<Error>(ended.error());
    return held;
  }
  std::string all;
  for (const std::string& file : held->files) all += (all.empty() ? "" : "; ") + file;
  return fail(
      "open_files", fmt::format("the new policy forbids what the old one let be opened: {}", all),
      "restart the workload, end these processes with --evict, or accept it with --keep-open-files (reported as degraded)");
}

// Does the sandbox go on using files that the new policy forbids, on the operator's word or on an earlier one?
Result<bool> keeps_files(const Kernel& kernel, const Cgroup& cgroup, const policy::Image* before,
                         const policy::Image& after, const OpenFiles& held, const SwapOptions& options) {
  if (options.evict) return false;
  if (!held.files.empty()) return true;
  if (!has_kept_files(before)) return false;
  auto still = forbidden_files(kernel, cgroup, after);
  if (!still) return tl::unexpected<Error>(still.error());
  return !still->files.empty();
}

// The rules by which the sandbox's resolver answers, and what its answers opened: they go with the policy.
struct HostNames {
  std::uint32_t next, before;
  Fd rules;
  std::uint32_t answered_by;
  bool change() const { return next != answered_by; }
};

HostNames host_names_for(const std::string& sandbox, const policy::Image& image, const Result<policy::Image>& old) {
  HostNames host_names{image.header().host_names_id, old ? old->header().host_names_id : 0, Fd(), 0};
  if (host_names.next != 0) host_names.rules = open_resolver_rules(sandbox);
  if (host_names.rules) host_names.answered_by = resolver_rules_in_use(host_names.rules.get());
  return host_names;
}

// After the one published last, whichever somebody put into force since.
std::uint32_t next_generation(const Kernel& kernel, std::uint64_t cgroup_id, const Result<policy::Image>& old) {
  const auto ref = read_ref(kernel, cgroup_id);
  return std::max(old ? old->header().generation : 0, ref ? ref->generation : 0) + 1;
}

// By what the sandbox may have made of the paths under the policy before. It stands still.
Result<policy::Image> compile_over(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy,
                                   std::uint32_t generation, const Result<policy::Image>& old,
                                   WalkedPaths& walked_paths) {
  const auto kept = read_policy_text(cgroup.id());
  auto renamed = renamed_files(kernel, cgroup, policy);
  if (!renamed) return tl::unexpected<Error>(renamed.error());
  return compile_for(kernel, cgroup, policy, generation,
                     {.before = old ? &*old : nullptr,
                      .kept = kept ? &*kept : nullptr,
                      .walked_paths = &walked_paths,
                      .renamed = std::move(*renamed)});
}

// What goes with a policy, after it was published. Errors leave it to be taken back.
Result<void> bring_along(const Kernel& kernel, const sbpf_sandbox& record, const Cgroup& cgroup,
                         const policy::Policy& policy, const policy::Image& image, const HostNames& host_names) {
  if (host_names.change())
    if (auto used = use_resolver_rules(host_names.rules.get(), host_names.next); !used) return used;
  if (auto recorded = set_recording(kernel, record.cgroup_id, image); !recorded) return recorded;
  if (auto limited = apply_limits(cgroup, policy.limits); !limited) return limited;
  // The limits of a cgroup that another runtime owns are lifted by no one but its owner.
  if (!(record.flags & SBPF_SANDBOX_ATTACHED)) lift_other_limits(cgroup, policy.limits);
  return {};
}

Result<void> check_over(const sbpf_sandbox& record, const Result<policy::Image>& old, const SwapOptions& options) {
  if (!options.over ||
      (record.created_ns == options.over->instance && old && old->header().generation == options.over->generation))
    return {};
  return fail("busy", fmt::format("sandbox {} has another policy by now, or is another one", record.name),
              "look again at what it is denied");
}

// The policy in force is the new one at the end, or the old one after an error. `looked` receives where its paths were
// looked up.
Result<std::vector<std::string>> put_over(Kernel& kernel, WalkedPaths& walked_paths, const sbpf_sandbox& record,
                                          const Cgroup& cgroup, const policy::Policy& policy,
                                          const SwapOptions& options) {
  auto old = read_policy(kernel, record.cgroup_id);
  if (auto as_asked = check_over(record, old, options); !as_asked) return tl::unexpected<Error>(as_asked.error());
  const std::uint32_t generation = next_generation(kernel, record.cgroup_id, old);
  const std::string name = record.name;
  Freeze freeze(kernel, cgroup, name);
  if (auto still = stand_still(freeze, policy, options); !still) return tl::unexpected<Error>(still.error());
  auto image = compile_over(kernel, cgroup, policy, generation, old, walked_paths);
  if (!image) return tl::unexpected<Error>(image.error());
  const HostNames host_names = host_names_for(name, *image, old);
  if (auto can = check_begun_with(record, policy.network, *image, host_names.rules); !can)
    return tl::unexpected<Error>(can.error());
  if (host_names.change())
    if (auto put = put_resolver_rules(host_names.rules.get(), policy, host_names.next); !put)
      return tl::unexpected<Error>(put.error());
  const Fd opened =
      host_names.next == 0 || host_names.next == host_names.before ? Fd() : open_host_names(kernel, record.cgroup_id);
  const CarriedHostNames carried(opened.get(), policy, host_names.before, host_names.next);
  const policy::Image* before = old ? &*old : nullptr;
  auto held = take_away_files(kernel, cgroup, before, *image, options);
  if (!held) return tl::unexpected<Error>(held.error());
  const auto keeps = keeps_files(kernel, cgroup, before, *image, *held, options);
  if (!keeps) return tl::unexpected<Error>(keeps.error());
  if (*keeps) image = image->flagged(SBPF_POLICY_KEPT_FILES);
  const JournalEntry change(kernel, JournalEntry::swap, record.cgroup_id, name);
  carried.before();
  if (auto published = publish(kernel, record.cgroup_id, *image); !published)
    return tl::unexpected<Error>(published.error());
  const auto take_back = [&](Error error) {
    // With a number of its own: a generation never goes back.
    if (old) (void)publish(kernel, record.cgroup_id, old->renumbered(generation + 1));
    if (host_names.change()) (void)use_resolver_rules(host_names.rules.get(), host_names.answered_by);
    return tl::unexpected<Error>(std::move(error));
  };
  if (auto brought = bring_along(kernel, record, cgroup, policy, *image, host_names); !brought)
    return take_back(brought.error());
  carried.after();
  // What the new policy forbids ends: connections that are under way already are judged by no hook. The last step, as
  // it cannot be taken back.
  policy::Image allowed = with_opened(kernel, record.cgroup_id, *image);
  carried.add_to(allowed);
  auto ended = cut_connections(kernel, cgroup, allowed);
  if (!ended) return take_back(ended.error());
  if (options.evict) ended->insert(ended->end(), held->files.begin(), held->files.end());
  return ended;
}

}  // namespace

Result<Status> swap(const std::string& name, const policy::Policy& policy, const SwapOptions& options) {
  if (auto none = refuse_secrets(policy, "swap"); !none) return tl::unexpected<Error>(none.error());
  auto host = open_locked();
  if (!host) return tl::unexpected<Error>(host.error());
  auto record = find_record(host->kernel, name);
  if (!record) return tl::unexpected<Error>(record.error());
  auto cgroup = Cgroup::open_by_id(record->cgroup_id);
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  WalkedPaths walked_paths;
  auto ended = put_over(host->kernel, walked_paths, *record, *cgroup, policy, options);
  if (!ended) return tl::unexpected<Error>(ended.error());
  keep_policy_text(record->cgroup_id, policy, walked_paths);
  if ((record->flags & SBPF_SANDBOX_KEPT) != 0)
    if (auto assigned = assign(name, cgroup->path(), policy); !assigned)
      return fail(std::move(assigned.error()), "the new policy is in force, and the assignment holds the one before");
  host->lock.reset();  // others need not wait for a canary
  Status status = proven_status(host->kernel, *record, probe_host(host->kernel));
  if (options.evict && !find_record(host->kernel, name))
    return fail("sandbox_ended",
                fmt::format("sandbox {} ended with its processes, which held files that the new policy forbids", name),
                "start it anew with this policy");
  status.ended = std::move(*ended);
  return status;
}

}  // namespace sbpf::agent
