// SPDX-License-Identifier: Apache-2.0
// detach, kill, status, list, unload: each a few steps over what is pinned.
#include <bpf/bpf.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "agent/agent.h"
#include "agent/host/announced_end.h"
#include "agent/host/audit.h"
#include "agent/host/bpf_info.h"
#include "agent/host/paths.h"
#include "agent/host/sentinel_cgroup.h"
#include "agent/kernel/guard.h"
#include "agent/sandbox/assigned.h"
#include "agent/sandbox/ended.h"
#include "agent/sandbox/event_log.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/policy_text.h"
#include "agent/verify/host_checks.h"
#include "agent/verify/verify.h"

namespace sbpf::agent {
namespace {

// While an upgrade has links run other programs, some run these and some those. One that was killed is told as it is.
Status settled_status(Kernel& kernel, const sbpf_sandbox& record, bool canary, const HostProbe& host) {
  using namespace std::chrono_literals;
  int tries = 3;
  const auto patience = std::chrono::steady_clock::now() + 2s;
  while (true) {
    kernel.renew();
    Status status = canary ? proven_status(kernel, record, host) : read_status(kernel, record, false, host);
    const bool between = is_upgrading(kernel) || kernel.outdated();
    if (!between && !is_clear(status) && tries-- > 0) {  // what is short for a moment
      std::this_thread::sleep_for(10ms);
      continue;
    }
    if (!between || std::chrono::steady_clock::now() > patience) return status;
    std::this_thread::sleep_for(10ms);
  }
}

// Of an assignment without a sandbox: its cgroup is gone, or was never closed since the host started.
Result<void> end_bare_assignment(const std::string& name, const Error& why_no_sandbox) {
  if (why_no_sandbox.code != "no_such_sandbox") return tl::unexpected<Error>(why_no_sandbox);
  auto ended = end_assignment(name);
  if (!ended) return tl::unexpected<Error>(ended.error());
  if (!*ended) return tl::unexpected<Error>(why_no_sandbox);
  audit(fmt::format("assignment {} ended", name));
  return {};
}

Result<void> end_sandbox(const std::string& name, bool always_kill) {
  auto host = open_locked();
  if (!host) return end_bare_assignment(name, host.error());
  auto record = find_record(host->kernel, name);
  if (!record) return end_bare_assignment(name, record.error());
  auto cgroup = Cgroup::open_by_id(record->cgroup_id);
  const auto mount = cgroup2_mount();
  // Without its own policy a program of `exec --policy` would have the rights of the sandbox that it is in.
  const bool ours =
      !(record->flags & SBPF_SANDBOX_ATTACHED) || (cgroup && mount && is_made_by_sbpf(cgroup->path(), *mount));
  // Who cannot see what runs in it can neither kill it nor let it go.
  if (!cgroup && !is_gone(cgroup.error())) return tl::unexpected<Error>(cgroup.error());
  if (cgroup && (ours || always_kill)) {
    announce_end(*cgroup);
    // Dead before unconfined: nothing runs on between the two.
    if (cgroup->populated())
      if (auto killed = cgroup->kill(); !killed) return killed;
  }
  // First, or the watch would bring back what is taken down.
  if (auto ended = end_assignment(name); !ended) return tl::unexpected<Error>(ended.error());
  if (auto marked = mark_ended(*record); !marked) return marked;
  audit(
      fmt::format("sandbox {}{}", name, ours || always_kill ? " ended" : " detached: its processes go on, unconfined"));
  take_down(host->kernel, record->cgroup_id, name);
  if (cgroup && ours) return remove_cgroup(cgroup->path());
  return {};
}

}  // namespace

Result<void> detach(const std::string& name) { return end_sandbox(name, false); }

Result<void> kill(const std::string& name) { return end_sandbox(name, true); }

namespace {
Result<void> check_root() {
  if (::geteuid() == 0) return {};
  return fail("not_permitted", "only root sees the sandboxes",
              "run sbpf as root, or ask sbpfd for yours: GET /v1/sandboxes", EPERM);
}
}  // namespace

// The answer where there is no sandbox of this name.
tl::unexpected<Error> no_sandbox(const std::string& name) {
  const std::string assigned = assigned_cgroup(name);
  if (assigned.empty())
    return fail("no_such_sandbox", fmt::format("no sandbox is named {}", name), "`sbpf list` shows them");
  return fail("no_such_sandbox", fmt::format("{} is assigned to {}, and confines nothing now", name, assigned),
              fmt::format("`sbpf reattach {}` puts it in force, as sbpfd and `sbpf watch` do; `sbpf detach {}` ends it",
                          name, name));
}

Result<Status> status(const std::string& name, bool canary) {
  if (auto root = check_root(); !root) return tl::unexpected<Error>(root.error());
  auto kernel = Kernel::open();
  if (!kernel && kernel.error().code == "not_loaded") return no_sandbox(name);
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto record = find_record(*kernel, name);
  if (!record && record.error().code == "no_such_sandbox") return no_sandbox(name);
  if (!record) return tl::unexpected<Error>(record.error());
  return settled_status(*kernel, *record, canary, probe_host(*kernel));
}

Result<PolicyInForce> policy_in_force(const std::string& name) {
  if (auto root = check_root(); !root) return tl::unexpected<Error>(root.error());
  auto kernel = Kernel::open();
  if (!kernel && kernel.error().code == "not_loaded") return no_sandbox(name);
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto record = find_record(*kernel, name);
  if (!record) return tl::unexpected<Error>(record.error());
  auto image = read_policy(*kernel, record->cgroup_id);
  if (!image) return tl::unexpected<Error>(image.error());
  auto kept = read_policy_text(record->cgroup_id, *image);
  if (!kept) return tl::unexpected<Error>(kept.error());
  return PolicyInForce{
      std::move(kept->policy), {record->created_ns, image->header().generation}, kept->walked_paths.mounts};
}

Result<Listed> list() {
  if (auto root = check_root(); !root) return tl::unexpected<Error>(root.error());
  Listed listed;
  auto kernel = Kernel::open();
  if (!kernel && kernel.error().code != "not_loaded") return tl::unexpected<Error>(kernel.error());
  if (kernel) {
    Standing found = standing(*kernel);
    for (const sbpf_sandbox& record : found.sandboxes) listed.names.emplace_back(record.name);
    listed.unclear = std::move(found.unclear);
  }
  for (std::string& name : assigned_names())
    if (std::ranges::find(listed.names, name) == listed.names.end()) listed.names.push_back(std::move(name));
  return listed;
}

Result<std::vector<Status>> statuses() {
  if (auto root = check_root(); !root) return tl::unexpected<Error>(root.error());
  std::vector<Status> all;
  auto kernel = Kernel::open();
  if (!kernel && kernel.error().code == "not_loaded") return all;
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  const Standing found = standing(*kernel);
  // Whoever requires all to be active is not told of some.
  if (found.sandboxes.empty() && !found.unclear.empty())
    return fail("cannot_tell", found.unclear, "try again; nothing was changed");
  const HostProbe host = found.sandboxes.empty() ? HostProbe{} : probe_host(*kernel);
  for (const sbpf_sandbox& record : found.sandboxes) all.push_back(settled_status(*kernel, record, false, host));
  return all;
}

namespace {

std::vector<std::uint32_t> programs_of(const Kernel& kernel) {
  std::vector<std::uint32_t> ids;
  for (const Hook& hook : hooks())
    if (const std::uint32_t id = kernel.meta(hook.id).prog_id; id != 0) ids.push_back(id);
  return ids;
}

// How many of them are still there when they had time to go: the kernel lets go of what nobody holds a little later.
// Not of links: whoever may see a program can attach it without one.
std::size_t programs_left(std::vector<std::uint32_t> ids) {
  using namespace std::chrono_literals;
  for (auto left = 30s / 20ms; !ids.empty(); left--) {  // beside a watch, which has them, too, some 12 s on 6.12
    std::erase_if(ids, [](std::uint32_t id) { return !Fd(bpf_prog_get_fd_by_id(id)) && errno == ENOENT; });
    if (left == 0 || ids.empty()) break;
    std::this_thread::sleep_for(20ms);
  }
  return ids.size();
}

// A sandbox whose cgroup has something to confine, by the links that are pinned: they are read without anything else of
// sbpf's. "": none. Errors: "cannot_tell", "not_the_agent".
Result<std::string> confined_by_pins() {
  const auto root = root_cgroup();
  if (!root) return tl::unexpected<Error>(root.error());
  std::error_code ec;
  for (const auto& sandbox : std::filesystem::directory_iterator(std::string(kPinRoot) + "/sandboxes", ec))
    for (const auto& pin : std::filesystem::directory_iterator(sandbox.path(), ec)) {
      const Fd link(bpf_obj_get(pin.path().c_str()));
      if (!link && errno == ENOENT) continue;
      if (!link)
        return fail(errno == EPERM ? ErrorCode("not_the_agent") : ErrorCode("cannot_tell"),
                    SystemError{errno, hint_for(errno)}, "cannot open pin {}", pin.path().string());
      const auto info = link_info(link.get());
      if (!info || info->type != BPF_LINK_TYPE_CGROUP || info->cgroup.cgroup_id == 0)
        continue;  // a map, or of a cgroup that is gone
      const auto cgroup = Cgroup::open_by_id(info->cgroup.cgroup_id);
      if (!cgroup && !is_gone(cgroup.error())) return fail("cannot_tell", cgroup.error().message, cgroup.error().hint);
      const bool made_by_run = cgroup && cgroup->path().starts_with(root->path() + "/");
      if (cgroup && (!made_by_run || cgroup->populated())) return sandbox.path().filename().string();
    }
  if (ec && ec.value() != ENOENT)
    return fail("cannot_tell", fmt::format("the pins cannot be read: {}", ec.message()), hint_for(ec.value()),
                ec.value());
  return "";
}

}  // namespace

Result<std::size_t> unload() {
  auto lock = lock_host();
  if (!lock) return tl::unexpected<Error>(lock.error());
  std::vector<std::uint32_t> programs;
  if (auto kernel = Kernel::open(); kernel) {
    programs = programs_of(*kernel);
    collect_garbage(*kernel);
    bool whole = true;
    const auto left = read_registry(*kernel, &whole);
    if (!whole) return fail("cannot_tell", SystemError{errno, hint_for(errno)}, "the sandboxes cannot all be read");
    const auto assigned = assigned_names();
    if (left.empty() && !assigned.empty())
      return fail("busy", fmt::format("{} assignments are left, {} among them", assigned.size(), assigned.front()),
                  "end them with `sbpf detach NAME`");
    if (!left.empty())
      return fail("busy", fmt::format("{} sandboxes are left, {} among them", left.size(), left.front().name),
                  "end them with `sbpf kill NAME` or `sbpf detach NAME`");
  } else if (kernel.error().code == "stale_programs" || kernel.error().code == "pins_broken") {
    const auto confined = confined_by_pins();
    if (!confined) return tl::unexpected<Error>(confined.error());
    if (!confined->empty())
      return fail(
          "busy",
          fmt::format("the cgroup of sandbox {} is confined still, by programs that this sbpf cannot manage: {}",
                      *confined, kernel.error().message),
          "end what runs there, or remove the cgroup, first");
    end_sentinels();  // of a watch of that version
  } else if (kernel.error().code != "not_loaded") {
    return tl::unexpected<Error>(kernel.error());
  }
  if (Kernel::is_pinned()) audit("programs unloaded");
  EventLog::remove_all();
  drop_policy_texts();
  Kernel::remove_all();
  if (Kernel::is_pinned())
    return fail("not_the_agent", "sbpf's pins cannot be removed by this executable",
                "restart the host, or use the one that loaded them", EPERM);
  lock->reset();  // others may load anew while these go
  return programs_left(std::move(programs));
}

}  // namespace sbpf::agent
