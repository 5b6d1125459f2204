// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/verify.h"

#include <bpf/bpf.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "agent/dns/resolver_process.h"
#include "agent/host/bpf_info.h"
#include "agent/host/limits.h"
#include "agent/kernel/guard.h"
#include "agent/sandbox/escaped_tasks.h"
#include "agent/sandbox/journal.h"
#include "agent/verify/canary.h"
#include "agent/verify/host_checks.h"
#include "agent/verify/overruling_programs.h"

namespace sbpf::agent {
namespace {

std::string cannot_tell(const char* what, int error) {
  return fmt::format("{}: {} ({})", what, std::strerror(error), hint_for(error));
}

HookStatus read_cgroup_hook(const Kernel& kernel, const Hook& hook, const sbpf_sandbox& record, bool program,
                            ListedLinks& listed) {
  HookStatus status;
  status.hook = &all_hooks()[hook.id];
  status.canary = "not run";
  const std::string pin = link_pin(record.name, hook);
  Fd fd(bpf_obj_get(pin.c_str()));
  if (!fd) {
    const bool hidden = pin_seen(errno, pin) == Seen::unknown;
    status.reason = hidden ? cannot_tell("link pin cannot be opened", errno) : "link pin is missing";
    if (!hidden) return status;
    // The kernel lists what runs, whether its pin can be opened or not.
    const Seen runs = listed.runs(record.cgroup_id, kernel.meta(hook.id).prog_id);
    status.unclear = runs == Seen::unknown;
    status.attached = runs == Seen::there;
    if (runs == Seen::there) status.reason.clear();
    if (runs == Seen::absent) status.reason = "no link runs its program, and the pin cannot be opened";
    return status;
  }
  auto link = link_info(fd.get());
  if (!link) {
    status.unclear = true;
    status.reason = link.error().message;
    return status;
  }
  status.link_id = link->id;
  status.prog_id = link->prog_id;
  status.prog_tag = tag_text(kernel.meta(hook.id).tag);
  // A detached cgroup link lives on with cgroup id 0; BPF_LINK_UPDATE puts another program under the same link id.
  if (link->type != BPF_LINK_TYPE_CGROUP)
    status.reason = "pin is not a cgroup link";
  else if (link->cgroup.cgroup_id == 0)
    status.reason = "link was detached";
  else if (link->cgroup.cgroup_id != record.cgroup_id)
    status.reason = "link is attached to another cgroup";
  else if (static_cast<int>(link->cgroup.attach_type) != cgroup_attach_type(hook))
    status.reason = "link is attached to another hook";
  else if (program)
    status.reason = kernel.program_mismatch(hook, link->prog_id, status.unclear);
  else if (link->prog_id != kernel.meta(hook.id).prog_id)
    status.reason = "another program runs at this link (id " + std::to_string(link->prog_id) + ")";
  status.attached = status.reason.empty();
  return status;
}

void add_degradation(Status& status, const char* what, std::string requested, std::string effective,
                     std::string reason) {
  status.degraded.push_back({what, std::move(requested), std::move(effective), std::move(reason)});
}

void add_escaped_tasks(Status& status, const Kernel& kernel, const sbpf_sandbox& record) {
  auto escaped = find_escaped_tasks(kernel, record.cgroup_id);
  if (!escaped) return add_degradation(status, "processes", "inside", "not known", escaped.error().message);
  std::string pids;
  for (const pid_t pid : *escaped) pids += " " + std::to_string(pid);
  if (!pids.empty())
    add_degradation(status, "processes", "inside", "moved out",
                    fmt::format("root outside moved them, unconfined:{}", pids));
}

void add_resolver(Status& status, std::uint64_t cgroup_id) {
  switch (resolver_lives(cgroup_id)) {
    case Seen::there:
      break;
    case Seen::absent:
      add_degradation(status, "names", "resolved", "refused",
                      "the resolver of `sbpf run` is gone: no host name resolves any more");
      break;
    case Seen::unknown:
      add_degradation(status, "names", "resolved", "not known",
                      fmt::format("not known whether the resolver lives: {}", std::strerror(errno)));
      break;
  }
}

Status of_record(const sbpf_sandbox& record) {
  Status status;
  status.sandbox = record.name;
  status.cgroup_id = record.cgroup_id;
  status.instance = record.created_ns;
  status.attached_cgroup = (record.flags & SBPF_SANDBOX_ATTACHED) != 0;
  status.kept = (record.flags & SBPF_SANDBOX_KEPT) != 0;
  status.flags = record.flags;
  status.events = record.events;
  status.repeated = record.repeated;
  status.lost_full = record.lost_full;
  status.lost_rate = record.lost_rate;
  std::copy(std::begin(record.denied), std::end(record.denied), status.denied.begin());
  return status;
}

void add_lost(Status& status, const Lost& one) {
  add_degradation(status, one.what.c_str(), "in place", one.unclear ? "not known" : "missing", one.reason);
}

// What the policy in force says of the sandbox.
void describe_policy(Status& status, const sbpf_sandbox& record, const policy::Image& image) {
  const sbpf_policy_header header = image.header();
  if ((header.flags & SBPF_POLICY_OWN_LOOPBACK) != 0 && (header.flags & SBPF_POLICY_AUDIT) == 0)
    status.loopback = record.own_netns != 0 ? "private" : "closed";
  const auto id = image.slot<sbpf_policy_id>(SBPF_SLOT_ID);
  const auto name = image.slot<sbpf_policy_name>(SBPF_SLOT_NAME);
  status.policy_name = std::string(name.name, ::strnlen(name.name, sizeof name.name));
  std::array<std::uint8_t, 32> digest{};
  std::memcpy(digest.data(), id.policy_sha256, digest.size());
  status.policy_sha256 = policy::hex(digest);
  status.generation = header.generation;
  status.n_rules = header.n_rules;
  status.mode = (header.flags & SBPF_POLICY_AUDIT) != 0 ? policy::Mode::audit : policy::Mode::enforce;
  if (id.on_loss == SBPF_ON_LOSS_KILL) status.on_loss = policy::OnLoss::kill;
  if (id.on_loss == SBPF_ON_LOSS_ALERT) status.on_loss = policy::OnLoss::alert;
  for (std::size_t i = 0; i < std::min<std::size_t>(id.n_trusted, SBPF_TRUSTED_PROGRAMS); i++)
    status.trusted_programs.push_back(std::to_array(id.trusted[i]));
}

bool apply_canary(Status& status, const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image) {
  auto report = run_canary(kernel, cgroup, image, status.flags);
  if (!report) {
    add_degradation(status, "canary", "denied", report.error().sys_errno == ETIME ? "no answer" : "not run",
                    report.error().message);
    return false;
  }
  for (HookStatus& hook : status.hooks) hook.canary = to_string(report->hooks[hook.hook->id]);
  if (!report->ok()) add_degradation(status, "canary", "denied", "not denied", report->detail);
  return report->ok();
}

void add_limits(Status& status, const Cgroup& cgroup, const policy::Image& image) {
  for (const Loosened& one :
       loosened_limits(cgroup, policy::limits_of(image.slot<sbpf_policy_process>(SBPF_SLOT_PROCESS))))
    add_degradation(
        status, "limits", fmt::format("{} {}", one.file, one.requested), one.effective,
        fmt::format("{} of its cgroup is {}, and the policy has {}: systemd or root set it; `sbpf watch` puts it back",
                    one.file, one.effective, one.requested));
}

// What of a sandbox changes when sbpf changes it; nothing while it does.
struct Version {
  std::uint64_t created_ns = 0;
  std::uint32_t generation = 0, policy = 0, programs = 0;
  bool operator==(const Version&) const = default;
};

std::optional<Version> version_of(const Kernel& kernel, std::uint64_t cgroup_id) {
  if (is_changing(kernel, cgroup_id) || kernel.outdated()) return std::nullopt;
  const auto record = find_record(kernel, cgroup_id);
  const auto ref = read_ref(kernel, cgroup_id);
  return Version{record ? record->created_ns : 0, ref ? ref->generation : 0, policy_map_id(kernel, cgroup_id),
                 __atomic_load_n(&kernel.globals().journal.loaded, __ATOMIC_SEQ_CST)};
}

// What is in force and yet not all that was asked for: the resolver, processes outside, and what somebody accepted.
void add_accepted(Status& status, const Kernel& kernel, const sbpf_sandbox& record, const policy::Image* image) {
  if ((record.flags & SBPF_SANDBOX_HOST_NAMES) != 0 && image != nullptr && image->header().host_names_id != 0)
    add_resolver(status, record.cgroup_id);
  if (record.moved_out > 0) add_escaped_tasks(status, kernel, record);
  if (auto open = guard_degradation(kernel)) status.degraded.push_back(std::move(*open));
  if (record.flags & SBPF_SANDBOX_KEPT_SOCKETS)
    add_degradation(status, "sockets", "closed", "kept", "attached with --keep-open-sockets");
  if (image != nullptr && image->header().flags & SBPF_POLICY_KEPT_FILES)
    add_degradation(status, "files", "closed", "kept", "swapped with --keep-open-files");
  if (status.mode == policy::Mode::audit)
    add_degradation(status, "mode", "enforce", "audit", "the policy only reports, it blocks nothing");
}

}  // namespace

std::optional<Status> prove(const Kernel& kernel, const sbpf_sandbox& record, const HostProbe& host) {
  const auto before = version_of(kernel, record.cgroup_id);
  if (!before || before->created_ns != record.created_ns) return std::nullopt;
  Status status = read_status(kernel, record, true, host);
  if (version_of(kernel, record.cgroup_id) != before) return std::nullopt;
  return status;
}

bool is_clear(const Status& status) {
  return std::ranges::none_of(status.degraded, [](const Degradation& d) { return d.effective == "not known"; });
}

// What is there already overrules every sandbox alike: it is told, and the program may start.
bool may_start(const Status& status, policy::Mode mode) {
  if (status.isolation != Isolation::degraded) return status.isolation == Isolation::active;
  return mode == policy::Mode::audit ||
         std::ranges::all_of(status.degraded, [](const Degradation& d) { return d.what == "later"; });
}

std::string why_not_active(const Status& status) {
  if (status.degraded.empty()) return "unknown";
  std::string why = fmt::format("{}: {}", status.degraded.front().what, status.degraded.front().reason);
  for (std::size_t i = 1; i < status.degraded.size(); i++)
    if (status.degraded[i].what == "canary") why += "; " + status.degraded[i].reason;
  return why;
}

HookStatus cgroup_hook(const Kernel& kernel, const Hook& hook, const sbpf_sandbox& record, ListedLinks& listed) {
  return read_cgroup_hook(kernel, hook, record, false, listed);
}

void note_lost(Status& status, const std::vector<Lost>& lost) {
  for (const Lost& one : lost) {
    status.isolation = one.what == "later" ? std::max(status.isolation, Isolation::degraded) : Isolation::inactive;
    for (HookStatus& hook : status.hooks)
      if (hook.hook != nullptr && one.what == hook.hook->name) {
        if (hook.reason.empty()) hook.reason = one.reason;
        hook.attached = false;
      }
    if (std::ranges::none_of(status.degraded, [&](const Degradation& d) { return d.what == one.what; }))
      add_lost(status, one);
  }
}

HostProbe probe_host(const Kernel& kernel) {
  Sentinel sentinel;
  Liveness found = sentinel.prove(kernel, std::chrono::seconds(5));
  // Nobody holds it back any more; and where many start at once it waits for a processor.
  if (found.proof == Proof::unknown && !found.disturbed) found = sentinel.prove(kernel, std::chrono::seconds(10));
  return probe_host(kernel, found);
}

Status read_status(const Kernel& kernel, const sbpf_sandbox& record, bool canary) {
  return read_status(kernel, record, canary, probe_host(kernel));
}

Status read_status(const Kernel& kernel, const sbpf_sandbox& record, bool canary, const HostProbe& host) {
  Status status = of_record(record);
  bool sound = host.lost.empty();
  for (const Lost& one : host.lost) add_lost(status, one);
  for (const Lost& one : host.unknown)
    if (concerns(one, record)) add_lost(status, one);
  ListedLinks listed(kernel);
  for (const Hook& hook : hooks_of(status.flags)) {
    status.hooks.push_back(!hook.per_sandbox() ? kernel.host_status(hook)
                                               : read_cgroup_hook(kernel, hook, record, true, listed));
    sound = sound && (status.hooks.back().attached || status.hooks.back().unclear);
  }
  const auto note = [&](const std::optional<Lost>& one) {
    if (!one) return;
    sound = sound && one->unclear;
    add_lost(status, *one);
  };
  note(lsm_lost());
  note(gate_lost(kernel, record));
  const auto ref = read_ref(kernel, record.cgroup_id);
  note(storage_lost(ref, errno));
  const auto image = read_policy(kernel, record.cgroup_id);
  if (image) describe_policy(status, record, *image);
  const auto other =
      image ? policy_lost(kernel, record.cgroup_id, ref, *image) : std::optional(no_policy(image.error().sys_errno));
  note(other);
  const bool have_policy = !other;
  auto cgroup = Cgroup::open_by_id(record.cgroup_id);
  if (cgroup) {
    status.cgroup = cgroup->path();
    status.frozen = cgroup->frozen();
    if (auto later = later_programs(kernel, *cgroup, status.trusted_programs); !later)
      add_degradation(status, "later", "none", "not known", later.error().message);
    else
      for (const Later& one : *later) add_degradation(status, "later", "none", one.hook, describe(one));
    if (have_policy) add_limits(status, *cgroup, *image);
    if (auto pids = cgroup->processes()) status.processes = pids->size();
    if (canary && have_policy) sound = apply_canary(status, kernel, *cgroup, *image) && sound;
  } else {
    const bool gone = is_gone(cgroup.error());
    note(Lost{"cgroup",
              gone ? cgroup.error().message : fmt::format("{} ({})", cgroup.error().message, cgroup.error().hint),
              !gone});
  }
  for (const HookStatus& hook : status.hooks)
    if (!hook.attached)
      add_degradation(status, hook.hook->name, "attached", hook.unclear ? "not known" : "missing", hook.reason);

  add_accepted(status, kernel, record, image ? &*image : nullptr);
  if (!sound)
    status.isolation = Isolation::inactive;
  else
    status.isolation = status.degraded.empty() ? Isolation::active : Isolation::degraded;
  return status;
}

Status proven_status(Kernel& kernel, const sbpf_sandbox& record, const HostProbe& host) {
  using namespace std::chrono_literals;
  const auto patience = std::chrono::steady_clock::now() + 20s;
  do {
    kernel.renew();
    if (auto status = prove(kernel, record, host)) return std::move(*status);
    std::this_thread::sleep_for(10ms);
  } while (std::chrono::steady_clock::now() < patience && find_record(kernel, record.cgroup_id));
  Status status = read_status(kernel, record, false, host);
  status.degraded.push_back(
      {"canary", "denied", "not run", "the sandbox, or the programs of all, changed again and again"});
  if (status.isolation == Isolation::active) status.isolation = Isolation::degraded;
  return status;
}

}  // namespace sbpf::agent
