// SPDX-License-Identifier: Apache-2.0
// `sbpf attach`: a policy for a cgroup that exists, with what runs in it.
#include <fmt/core.h>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "agent/agent.h"
#include "agent/files/fs_view.h"
#include "agent/host/limits.h"
#include "agent/host/traces.h"
#include "agent/kernel/guard.h"
#include "agent/kernel/launchers.h"
#include "agent/launch/bring_up.h"
#include "agent/launch/secrets.h"
#include "agent/sandbox/assigned.h"
#include "agent/sandbox/connections.h"
#include "agent/sandbox/escaped_tasks.h"
#include "agent/sandbox/freeze.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/mount_view.h"
#include "agent/sandbox/open_files.h"
#include "agent/sandbox/open_sockets.h"
#include "agent/sandbox/policy_text.h"
#include "agent/sandbox/rollback.h"
#include "agent/verify/verify.h"
#include "base/file.h"
#include "base/proc_cgroup.h"
#include "policy/filesystem.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

Result<OpenBefore> scan(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image) {
  auto pids = cgroup.processes();
  if (!pids) return tl::unexpected<Error>(pids.error());
  OpenBefore before;
  const std::set<pid_t> inside(pids->begin(), pids->end());
  for (const pid_t pid : *pids)
    for (const pid_t task : tasks_with_descriptors(pid)) find_open_sockets(task, image, inside, before);
  auto held = forbidden_files(kernel, cgroup, image);
  if (!held) return tl::unexpected<Error>(held.error());
  std::ranges::move(held->files, std::back_inserter(before.others));
  std::ranges::move(traces_outside(inside), std::back_inserter(before.others));
  auto outside = connections_held_outside(kernel, cgroup, image, before.sockets);
  if (!outside) return tl::unexpected<Error>(outside.error());
  std::ranges::move(*outside, std::back_inserter(before.flows));
  return before;
}

Result<void> refuse_open(const OpenBefore& before, const AttachOptions& options) {
  if (before.empty() || options.keep_open_sockets || (options.evict && before.others.empty())) return {};
  std::string all;
  for (const auto* list : {&before.flows, &before.others})
    for (const std::string& one : *list) all += (all.empty() ? "" : "; ") + one;
  return fail(
      "open_sockets", fmt::format("the policy forbids what is open already: {}", all),
      fmt::format("restart the workload in the cgroup, {}or accept it with --keep-open-sockets (reported as degraded)",
                  before.others.empty() ? "end its connections with --evict, " : ""));
}

// bpffs reserves dots.
std::string derive_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '-';
  return name.substr(0, SBPF_NAME_LEN - 1);
}

Result<void> check_place(const Cgroup& cgroup, const std::vector<sbpf_sandbox>& others, const std::string& name) {
  if (cgroup.level() == 0)
    return fail("not_a_cgroup", "the root cgroup holds the whole host", "give a cgroup below it");
  if (cgroup.level() >= SBPF_MAX_LEVELS)
    return fail("not_a_cgroup", "the cgroup is nested too deep", fmt::format("at most level {}", SBPF_MAX_LEVELS - 1));
  // Of a threaded one the kernel lists no processes, and those that have a thread in it have others outside.
  if (const auto type = cgroup.read("cgroup.type"); type && type->starts_with("threaded"))
    return fail("not_a_cgroup", fmt::format("{} is threaded: it holds threads, not processes", cgroup.path()),
                "give the cgroup above it that holds the whole processes");
  const std::string cgroups = read_file("/proc/self/cgroup");
  const std::string own(unified_cgroup(cgroups));
  if (const auto mount = cgroup2_mount();
      mount && !own.empty() && (*mount + own + "/").starts_with(cgroup.path() + "/"))
    return fail("not_a_cgroup", fmt::format("sbpf itself runs in {}", cgroup.path()),
                "attach from outside of the cgroup");
  for (const sbpf_sandbox& record : others) {
    if (record.cgroup_id == cgroup.id())
      return fail("already_attached", fmt::format("{} is sandbox {}", cgroup.path(), record.name),
                  fmt::format("change its policy with `sbpf swap`, or `sbpf detach {}` first", record.name));
  }
  return check_new_name(others, name);
}

// What is assigned to a path need not be there yet.
Result<Cgroup> open_cgroup(const AttachOptions& options, const policy::Limits& limits) {
  auto cgroup = Cgroup::open(options.cgroup);
  if (cgroup || !options.keep || cgroup.error().sys_errno != ENOENT) return cgroup;
  const auto mount = cgroup2_mount();
  if (!mount || !fs::path(options.cgroup).lexically_normal().string().starts_with(*mount + "/")) return cgroup;
  std::error_code ec;
  fs::create_directories(options.cgroup, ec);
  if (ec)
    return fail("cgroup_create", fmt::format("cannot make cgroup {}: {}", options.cgroup, ec.message()), "",
                ec.value());
  if (limits.processes || limits.memory_bytes || limits.cpu_millis) hand_down_in_slices(*mount, options.cgroup);
  return Cgroup::open(options.cgroup);
}

// An assignment has its name to itself: the watch brings its sandbox back.
Result<void> check_assigned(const Cgroup& cgroup, const std::string& name, bool keep) {
  const std::string assigned = assigned_cgroup(name);
  if (assigned.empty() || (keep && assigned == cgroup.path())) return {};
  return fail("sandbox_exists", fmt::format("{} is assigned to {}", name, assigned),
              fmt::format("choose another --name, or `sbpf detach {}` first", name));
}

// The sandbox that came up in part is taken down again.
tl::unexpected<Error> give_up(const Kernel& kernel, const Cgroup& cgroup, const std::string& name, Error error) {
  take_down(kernel, cgroup.id(), name);
  return tl::unexpected<Error>(std::move(error));
}

// Brings the policy over the cgroup while it stands still. Returns the flows that were cut; `looked` receives where its
// paths were looked up.
Result<std::vector<std::string>> confine(BringUp& up, WalkedPaths& walked_paths, const Cgroup& cgroup,
                                         const std::string& name, const policy::Policy& policy,
                                         const AttachOptions& options) {
  Kernel& kernel = up.kernel();
  const JournalEntry change(kernel, JournalEntry::set_up, cgroup.id(), name);
  Freeze freeze(kernel, cgroup, name);
  if (auto frozen = freeze.freeze(); !frozen) return tl::unexpected<Error>(frozen.error());
  auto renamed = renamed_files(kernel, cgroup, policy);
  if (!renamed) return tl::unexpected<Error>(renamed.error());
  auto image = compile_for(kernel, cgroup, policy, 1, {.walked_paths = &walked_paths, .renamed = std::move(*renamed)});
  if (!image) return tl::unexpected<Error>(image.error());
  auto open_before = scan(kernel, cgroup, *image);
  if (!open_before) return tl::unexpected<Error>(open_before.error());
  if (auto fit = refuse_open(*open_before, options); !fit) return tl::unexpected<Error>(fit.error());
  SandboxSpec spec;
  spec.name = name;
  spec.flags = SBPF_SANDBOX_ATTACHED | (options.keep ? SBPF_SANDBOX_KEPT : 0);
  if (!open_before->empty() && !options.evict) spec.flags |= SBPF_SANDBOX_KEPT_SOCKETS;
  if (auto set_up = up.set_up(cgroup, spec, *image); !set_up) return tl::unexpected<Error>(set_up.error());
  Result<std::vector<std::string>> cut;
  if (options.evict) cut = cut_connections(kernel, cgroup, *image, open_before->sockets);
  if (!cut) return give_up(kernel, cgroup, name, cut.error());
  if (auto labelled = find_escaped_tasks(kernel, cgroup.id()); !labelled)
    return give_up(kernel, cgroup, name, labelled.error());
  return cut;  // it runs again, under the policy from here on
}

Result<Status> attach_to(BringUp& up, const Cgroup& cgroup, const std::string& name, const policy::Policy& policy,
                         const AttachOptions& options) {
  Kernel& kernel = up.kernel();
  const auto others = collect_some_garbage(kernel, name);
  if (auto placed = check_place(cgroup, others, name); !placed) return tl::unexpected<Error>(placed.error());
  if (auto free = check_assigned(cgroup, name, options.keep); !free) return tl::unexpected<Error>(free.error());
  if (auto noted = options.keep ? note_launchers(kernel) : Result<void>(); !noted)
    return tl::unexpected<Error>(noted.error());
  if (auto limited = apply_limits(cgroup, policy.limits); !limited) return tl::unexpected<Error>(limited.error());
  const RollbackProcess rollback(kernel, up.lock(), cgroup.id(), name);
  WalkedPaths walked_paths;
  auto cut = confine(up, walked_paths, cgroup, name, policy, options);
  if (!cut) return tl::unexpected<Error>(cut.error());
  if (const auto record = find_record(kernel, cgroup.id()); record && !options.proof_later)
    rollback.take_down_if_killed(record->created_ns, policy_map_id(kernel, cgroup.id()));
  const bool canary = !options.proof_later || !cgroup.frozen();  // it needs a cgroup that runs
  auto status =
      up.prove(cgroup, canary, [](const Status& now) { return now.isolation != Isolation::inactive && is_clear(now); });
  // What another one ended, or swapped, is that one's. And what is assigned stays as confined as it is: the next look
  // tells how that is.
  if (!status && (options.proof_later || up.was_swapped() || status.error().code == "sandbox_ended")) return status;
  if (!status) return give_up(kernel, cgroup, name, status.error());
  if (!up.was_swapped()) {
    if (options.keep)
      if (auto assigned = assign(name, cgroup.path(), policy); !assigned)
        return give_up(kernel, cgroup, name, assigned.error());
    keep_policy_text(cgroup.id(), policy, walked_paths);
  }
  status->ended = std::move(*cut);
  return status;
}

constexpr int kAttachTries = 5;

// The programs stay if it comes up.
Result<Status> put_in_force(BringUp& up, Cgroup cgroup, const policy::Policy& policy, const AttachOptions& options) {
  const std::string name = options.name.empty() ? derive_name(cgroup.path()) : options.name;
  Result<Status> done;
  // A unit that starts again and again has its cgroup removed between two looks, until it is kept.
  for (int tries = kAttachTries; tries > 0; tries--) {
    done = attach_to(up, cgroup, name, policy, options);
    if (done) up.keep_programs();
    if (done || !options.keep || cgroup.seen() != Seen::absent) break;
    auto next = open_cgroup(options, policy.limits);
    if (!next) break;
    cgroup = std::move(*next);
  }
  return done;
}

Result<Assignment> find_assignment(const std::string& name) {
  auto assignment = read_assignment(name);
  if (!assignment && assignment.error().sys_errno == ENOENT)
    return fail("no_such_sandbox", fmt::format("nothing is assigned under the name {}", name),
                "`sbpf attach --keep` assigns a policy to a cgroup");
  return assignment;
}

// How it stands, if it confines. No lock is waited for: a unit that starts again and again waits for this.
std::optional<Status> in_force(const Assignment& assignment) {
  auto now = status(assignment.name, false);
  if (!now || !now->kept || now->cgroup != assignment.cgroup || now->isolation == Isolation::inactive)
    return std::nullopt;
  // The service manager may have been upgraded, and is about to start something there.
  if (const auto kernel = Kernel::open(); !kernel || !note_launchers(*kernel)) return std::nullopt;
  return *now;
}

}  // namespace

Result<Status> attach(const policy::Policy& policy, const AttachOptions& options) {
  if (auto none = refuse_secrets(policy, "attach"); !none) return tl::unexpected<Error>(none.error());
  if (!policy.network.hosts.empty())
    return fail("host_names_unenforceable", "network.connect: host names need a resolver, which only `sbpf run` starts",
                "list addresses, or start the workload by `sbpf run`");
  auto cgroup = open_cgroup(options, policy.limits);
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  const auto checked = policy::compile_rules(policy, 1, policy::empty_view(policy));
  if (!checked) return tl::unexpected<Error>(checked.error());
  auto begun = BringUp::begin();
  if (!begun) return tl::unexpected<Error>(begun.error());
  return put_in_force(**begun, std::move(*cgroup), policy, options);
}

Result<Status> reattach(const std::string& name) {
  auto assignment = find_assignment(name);
  if (!assignment) return tl::unexpected<Error>(assignment.error());
  if (auto now = in_force(*assignment); now) return *now;
  const auto put = [&]() -> Result<Status> {
    auto begun = BringUp::begin();
    if (!begun) return tl::unexpected<Error>(begun.error());
    // It may have been ended, or given another policy, before the lock was free.
    assignment = find_assignment(name);
    if (!assignment) return tl::unexpected<Error>(assignment.error());
    AttachOptions options;
    options.cgroup = assignment->cgroup;
    options.name = name;
    options.evict = true;
    options.keep = true;
    options.proof_later = true;
    auto cgroup = open_cgroup(options, assignment->policy.limits);
    if (!cgroup) return tl::unexpected<Error>(cgroup.error());
    return put_in_force(**begun, std::move(*cgroup), assignment->policy, options);
  };
  auto done = put();
  if (done || done.error().code != "already_attached") return done;
  const auto now = in_force(*assignment);  // the watch, or another command, was faster
  return now ? *now : done;
}

}  // namespace sbpf::agent
