// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cstring>

#include "agent/commands/watch_state.h"
#include "agent/kernel/gate.h"
#include "agent/kernel/guard.h"
#include "agent/sandbox/ended.h"
#include "agent/sandbox/escaped_tasks.h"
#include "agent/sandbox/journal.h"
#include "agent/verify/verify.h"

namespace sbpf::agent {
namespace {

std::vector<std::string> whats(const std::vector<Lost>& lost) {
  std::vector<std::string> all;
  for (const Lost& one : lost) all.push_back(one.what);
  return all;
}

}  // namespace

void Watch::read(Entry& entry, const std::vector<Lost>& lost) {
  const policy::Mode mode = entry.status.mode;
  const policy::OnLoss on_loss = entry.status.on_loss;
  auto trusted = std::move(entry.status.trusted_programs);
  entry.status = read_status(*kernel_, entry.sound.record, false, probe_);
  Status& status = entry.status;
  // A policy that is missing, put in by others, or cannot be read does not say how the next loss is answered.
  const bool unsaid = is_lost(lost, "policy") ||
                      std::ranges::find(status.degraded, "policy", &Degradation::what) != status.degraded.end();
  if (unsaid && !entry.first) {
    status.mode = mode;
    status.on_loss = on_loss;
    status.trusted_programs = std::move(trusted);
  }
  note_lost(status, lost);
  for (const Lost& one : is_unclear(entry) ? entry.unclear : std::vector<Lost>{}) {
    if (status.isolation == Isolation::active) status.isolation = Isolation::degraded;
    if (std::ranges::none_of(status.degraded, [&](const Degradation& d) { return d.what == one.what; }))
      status.degraded.push_back({one.what, "read back", "not known", one.reason});
  }
  if (is_unproven(entry)) {
    if (status.isolation == Isolation::active) status.isolation = Isolation::degraded;
    status.degraded.push_back({"canary", "once a minute",
                               fmt::format("none for {} minutes", kCanaryStale / 60 / kSecond),
                               entry.no_canary.empty() ? "the canaries before it take too long" : entry.no_canary});
  }
  // Of a thousand sandboxes only what is not in order is kept; tell() completes it.
  std::erase_if(status.hooks, [](const HookStatus& hook) { return hook.attached; });
  status.hooks.shrink_to_fit();
  entry.read_at = now_ns();
}

void Watch::tell(const Entry& entry) const {
  Status whole = entry.status;
  for (const Hook& hook : hooks_of(whole.flags)) {
    if (std::ranges::any_of(whole.hooks, [&](const HookStatus& one) { return one.hook->id == hook.id; })) continue;
    HookStatus attached;
    attached.hook = &all_hooks()[hook.id];
    attached.attached = true;
    whole.hooks.push_back(std::move(attached));
  }
  sink_.sandbox(whole, entry.canary_at);
}

void Watch::note_unclear(Entry& entry, const std::string& name, std::vector<Lost> unclear) {
  entry.unclear = std::move(unclear);
  if (entry.unclear.empty()) {
    entry.unclear_at = 0;
    entry.unclear_told = false;
    return;
  }
  if (entry.unclear_at == 0) entry.unclear_at = now_ns();
  const Lost& first = entry.unclear.front();
  // A change is over in a moment.
  if (entry.unclear_told || (first.what == kChanging && !is_unclear(entry))) return;
  entry.unclear_told = true;
  complain({"cannot_tell",
            fmt::format("sandbox {}: it cannot be told how it stands ({}: {})", name, first.what, first.reason),
            "it is looked at again twice a second; nothing is taken for lost meanwhile", 0, "", true});
}

const Result<std::vector<Later>>& Watch::above(const Entry& entry) {
  const std::string path = entry.cgroup->path(), parent = path.substr(0, path.rfind('/'));
  const auto known = above_.find(parent);
  if (known != above_.end()) return known->second;
  const auto cgroup = Cgroup::open(parent);
  return above_[parent] = cgroup ? programs_above(*kernel_, cgroup->fd()) : tl::unexpected<Error>(cgroup.error());
}

// The guard lets nobody attach one at a sandbox's cgroup or below it, but for who wins a race (bpf/own.bpf.c). So who
// comes, comes above, and is read once for all that have the same cgroup above them; but by turns, for those that had
// one of their own when the watch came, and where a window let others through.
Result<std::vector<Later>> Watch::later_of(Entry& entry) {
  const sbpf_guard& guard = kernel_->globals().guard;
  const bool is_turn = (passes_ + entry.sound.record.cgroup_id) % kOwnLaterPasses == 0;
  if (!entry.first && !entry.has_own_later && !is_turn && guard.let_through == 0 && guard.open_until < boottime_ns())
    return above(entry);
  auto all = programs_after(*kernel_, entry.cgroup->fd());
  const auto& shared = above(entry);
  entry.has_own_later = !all || !shared || all->size() != shared->size();
  return all;
}

// A program that came to run after ours while the watch looked is a loss; what was there before is in the status.
void Watch::look_at_later(Entry& entry, std::vector<Lost>& lost, std::vector<Lost>& unclear) {
  if (!entry.cgroup) return;  // it could not be opened, which is told
  if (is_changing(*kernel_, entry.sound.record.cgroup_id) || is_upgrading(*kernel_) || kernel_->outdated()) return;
  const auto came = entry.later.newcomers(later_of(entry), entry.status.trusted_programs);
  if (!came) unclear.push_back({"later", came.error().message, true});
  for (const Later& one : came ? *came : std::vector<Later>{})
    lost.push_back({"later", describe(one), false, one.prog_id});
}

void Watch::stop(WatchLoss& loss, const Cgroup* cgroup, const sbpf_sandbox* record, policy::Mode mode) {
  const bool kept = record == nullptr || (record->flags & SBPF_SANDBOX_KEPT) != 0;  // without one it is an assignment's
  const LostSandbox lost{loss.sandbox, record != nullptr ? record->cgroup_id : 0,
                         kept,         mode,
                         loss.on_loss, fmt::format("{}: {}", loss.hooks.front(), loss.reasons.front())};
  const Answer answer = answer_loss(kernel_ ? &*kernel_ : nullptr, cgroup, lost);
  if (answer.failed) complain(*answer.failed);
  loss.answered = answer.done;
  loss.at = day_ns();
}

void Watch::answer(Entry& entry, const std::vector<Lost>& lost, bool moved) {
  WatchLoss loss;
  loss.sandbox = entry.sound.record.name;
  loss.hooks = whats(lost);
  for (const Lost& one : lost) loss.reasons.push_back(one.reason);
  if (moved) {
    loss.hooks.emplace_back("processes");
    loss.reasons.emplace_back("root outside moved a process out of the sandbox");
  }
  loss.on_loss = entry.status.on_loss;
  const sbpf_sandbox& record = entry.sound.record;
  stop(loss, entry.cgroup ? &*entry.cgroup : nullptr, &record, entry.status.mode);
  announce_to(*kernel_, record.cgroup_id, SBPF_REASON_ISOLATION_LOST, static_cast<std::uint32_t>(loss.hooks.size()));
  sink_.loss(loss);
}

void Watch::restored(Entry& entry) {
  WatchRestored back;
  back.sandbox = entry.sound.record.name;
  back.hooks = whats(entry.lost);
  back.lost_at = entry.sound_at;
  back.restored_at = day_ns();
  announce_to(*kernel_, entry.sound.record.cgroup_id, SBPF_REASON_ISOLATION_RESTORED,
              static_cast<std::uint32_t>((back.restored_at - back.lost_at + kSecond - 1) / kSecond));
  entry.canary_due = entry.restored_at = now_ns();  // what was put back is proven as soon as it can be
  sink_.restored(back);
}

// A record that is gone was not taken away by sbpf while the sandbox's pins are there, or while something runs in its
// cgroup and nothing says that sbpf let go of it.
bool Watch::is_record_lost(std::uint64_t id, const Entry& entry) const {
  if (record_seen(*kernel_, id) != Seen::absent || is_changing(*kernel_, id) || is_there(entry) != Seen::there)
    return false;
  if (is_marked_ended(entry.sound.record)) return false;
  const auto events = entry.cgroup->read("cgroup.events");
  if (events && events->find("populated 1") != std::string::npos) return true;
  return ::access(pin_directory(entry.sound.record.name).c_str(), F_OK) == 0 &&
         std::ranges::none_of(read_registry(*kernel_),
                              [&](const sbpf_sandbox& r) { return std::strcmp(r.name, entry.sound.record.name) == 0; });
}

void Watch::lost_records(const std::set<std::uint64_t>& present) {
  std::vector<std::uint64_t> over;
  for (auto& [id, entry] : entries_) {
    if (present.contains(id)) continue;
    // Twice, as a sandbox that is taken down and set up anew has pins without a record for no moment of both.
    if (!(is_record_lost(id, entry) && is_record_lost(id, entry))) {
      over.push_back(id);
      continue;
    }
    const bool attached = (entry.sound.record.flags & SBPF_SANDBOX_ATTACHED) != 0;
    const std::vector<Lost> lost = {{"record", std::string("the sandbox's record is missing: ") +
                                                   (attached ? "no LSM hook knows it" : "everything is denied")}};
    if (!is_lost(entry.lost, "record")) {
      answer(entry, lost, false);
      read(entry, lost);
      tell(entry);
    }
    entry.lost = lost;
    entry.state.clear();
  }
  for (const std::uint64_t id : over) forget(id);
}

void Watch::repair() {
  // A sentinel is known where the root is.
  const bool rootless = !probe_.unknown.empty() && lacks_root(*kernel_);
  const bool any = rootless || std::ranges::any_of(entries_, [](const auto& e) { return !e.second.lost.empty(); });
  // While the glass is broken someone takes things down on purpose: that is answered, and mended when the window
  // closes.
  if (!any || kernel_->outdated() || kernel_->globals().guard.open_until > boottime_ns()) return;
  const auto lock = lock_host(std::chrono::milliseconds(0));
  if (!lock) return;  // at the next pass
  if (!host_.empty())
    if (auto pinned = kernel_->repair_pins(); !pinned) complain(pinned.error());
  if (rootless)
    if (auto set = set_root(*kernel_); !set) complain(set.error());
  for (auto& [id, entry] : entries_) {
    if (entry.lost.empty() || is_there(entry) != Seen::there) continue;
    // Judged anew under the lock: what was seen may have been changed by who held it.
    const bool recorded = find_record(*kernel_, id).has_value();
    if (!recorded && !is_lost(entry.lost, "record")) continue;
    std::vector<Lost> now = recorded ? look_at(*kernel_, Snapshot(), entry.sound.record, entry.sound) : entry.lost;
    if (is_lost(host_, "gate")) now.push_back({"gate", ""});
    if (auto repaired = repair_sandbox(*kernel_, *entry.cgroup, entry.sound, now); !repaired)
      complain(repaired.error());
  }
}

}  // namespace sbpf::agent
