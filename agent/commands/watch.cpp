// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/watch.h"

#include <bpf/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>

#include "agent/commands/watch_state.h"
#include "agent/host/paths.h"
#include "agent/sandbox/event_log.h"
#include "agent/sandbox/journal.h"
#include "agent/verify/verify.h"

namespace sbpf::agent {

std::int64_t day_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void Watch::complain(const Error& error) {
  if (error.message == complaint_) return;
  complaint_ = error.message;
  sink_.error(error);
}

void Watch::forget(std::uint64_t cgroup_id) {
  const auto found = entries_.find(cgroup_id);
  if (found == entries_.end()) return;
  const std::string name = found->second.status.sandbox;
  entries_.erase(found);
  // Another one may bear the name by now, in another cgroup, and was told of before.
  if (std::ranges::none_of(entries_, [&](const auto& e) { return e.second.status.sandbox == name; })) sink_.gone(name);
}

void Watch::forget_all() {
  while (!entries_.empty()) forget(entries_.begin()->first);
}

namespace {

// Nothing is left in them, and their pins went.
bool is_over(const Kernel& kernel) {
  bool whole = true;
  if (!read_registry(kernel, &whole).empty() || !whole) return false;
  struct stat root {};
  const bool there = ::stat(std::string(kPinRoot).c_str(), &root) == 0;
  return there ? root.st_ino != kernel.globals().guard.pins_ino : Kernel::pinned() == Seen::absent;
}

// Is something told of it that may be over without a trace elsewhere?
bool has_passing(const Status& status) {
  return std::ranges::any_of(status.degraded, [](const Degradation& d) {
    return d.effective == "not known" || d.what == "limits" || d.what == "later";
  });
}

}  // namespace

// What the processes beside the watch hold of the programs would keep them in the kernel after `unload`.
void Watch::let_go() {
  sentinel_.reset();
  canary_.end();
}

// The programs that are pinned; those of before are let go of when nothing is left in them and their pins went.
Result<bool> Watch::have_kernel() {
  if (kernel_ && is_over(*kernel_)) {
    forget_all();
    let_go();
    kernel_.reset();
  }
  if (kernel_) {
    kernel_->renew();
    return true;
  }
  auto opened = Kernel::open();
  if (opened) {
    kernel_.emplace(std::move(*opened));
    return true;
  }
  const ErrorCode code = opened.error().code;
  if (code == "not_loaded") return false;
  if (code == "stale_programs" || code == "not_the_agent") return tl::unexpected<Error>(opened.error());
  complain(opened.error());
  return false;
}

std::optional<std::vector<Lost>> Watch::confirmed(const sbpf_sandbox& record, Entry& entry) {
  const std::uint64_t id = record.cgroup_id;
  std::vector<Lost> lost;
  // What is taken down between the two marks is not there any more at the second look; what was set up is complete.
  for (int time = 0; time < 2; time++) {
    if (is_changing(*kernel_, id)) return std::nullopt;
    const auto now = find_record(*kernel_, id);
    if (!now || now->created_ns != record.created_ns) return std::nullopt;
    lost = look_at(*kernel_, Snapshot(), *now, entry.sound);
    if (lost.empty() && host_.empty()) return lost;
    if (is_changing(*kernel_, id) || kernel_->outdated()) return std::nullopt;
  }
  if (is_there(entry) == Seen::absent) return std::nullopt;  // its links went with it
  return lost;
}

// Whom another executable took over from (an upgrade, by break-glass) sees nothing any more: that is no loss.
bool Watch::may_open_pins() {
  const Fd pin(bpf_obj_get((std::string(kPinRoot) + "/maps/sandboxes").c_str()));
  return pin || errno != EPERM;
}

std::optional<Watch::Found> Watch::find_lost(const sbpf_sandbox& record, Entry& entry, std::vector<Lost>& unclear) {
  Found found{look_at(*kernel_, snapshot_, record, entry.sound), false};
  std::vector<Lost> not_told = take_unclear(found.lost);
  if (!found.lost.empty() || !host_.empty()) {
    auto sure = confirmed(record, entry);
    found.changing = !sure && !entry.first && is_changing(*kernel_, record.cgroup_id);
    if ((!sure && !found.changing) || !may_open_pins()) return std::nullopt;
    // Who changes it may be stopped at it: then that is told, and what was lost before stays so.
    if (found.changing) unclear.push_back({kChanging, "what sbpf itself began to change it is not at its end", true});
    found.lost = found.changing ? entry.lost : std::move(*sure);
    not_told = take_unclear(found.lost);
  }
  std::ranges::move(not_told, std::back_inserter(unclear));
  if (found.changing) return found;
  for (const auto* more : {&host_, &entry.canary_lost})
    for (const Lost& one : *more)
      if (!is_lost(found.lost, one.what) && concerns(one, record)) found.lost.push_back(one);
  look_at_later(entry, found.lost, unclear);
  return found;
}

std::string Watch::state_text(const sbpf_sandbox& record, const Entry& entry, bool frozen,
                              const std::vector<Lost>& lost) const {
  const sbpf_guard& guard = kernel_->globals().guard;
  std::string state = std::to_string(entry.sound.policy_id) + (frozen ? " f" : " -") + std::to_string(record.flags) +
                      " " + std::to_string(record.moved_out) + (guard.open_until > boottime_ns() ? " o " : " c ") +
                      (guard.let_through > 0 ? "t" : "-") + (is_unproven(entry) ? "u" : "-") +
                      (is_unclear(entry) ? "?" : "-");
  for (const Lost& one : probe_.unknown) state += "\n?" + one.what;
  for (const Lost& one : lost) state += "\n" + one.what + "\t" + one.reason;
  return state;
}

void Watch::tell_counters(const sbpf_sandbox& record, Entry& entry) {
  Status& status = entry.status;
  status.events = record.events;
  status.lost_full = record.lost_full;
  status.lost_rate = record.lost_rate;
  std::copy(std::begin(record.denied), std::end(record.denied), status.denied.begin());
  entry.told_at = now_ns();
  tell(entry);
}

namespace {

std::vector<Lost> unanswered(const Entry& entry, const std::vector<Lost>& lost) {
  std::vector<Lost> fresh;
  for (const Lost& one : lost)
    if (!is_answered(entry.lost, one)) fresh.push_back(one);
  return fresh;
}

bool has_processes_outside(const Status& status) {
  return std::ranges::any_of(status.degraded, [](const Degradation& d) { return d.what == "processes"; });
}

bool counters_differ(const Status& status, const sbpf_sandbox& record) {
  return status.events != record.events || status.lost_full != record.lost_full ||
         status.lost_rate != record.lost_rate ||
         !std::equal(status.denied.begin(), status.denied.end(), std::begin(record.denied));
}

}  // namespace

// False: the sandbox is over, or not there yet.
bool Watch::check(const sbpf_sandbox& record, Entry& entry) {
  const std::int64_t now = now_ns();
  std::vector<Lost> unclear = host_unclear_;
  if (!entry.cgroup) {
    auto cgroup = Cgroup::open_by_id(record.cgroup_id);
    if (!cgroup && is_gone(cgroup.error())) return false;
    if (cgroup)
      entry.cgroup.emplace(std::move(*cgroup));
    else
      unclear.push_back({"cgroup", cgroup.error().message, true});
  }
  const auto events = entry.cgroup ? entry.cgroup->read("cgroup.events") : Result<std::string>("");
  if (!events && is_there(entry) == Seen::absent) return false;  // the cgroup was removed: nothing is left to confine
  if (!events) unclear.push_back({"cgroup", events.error().message, true});
  const bool frozen = events ? events->find("frozen 1") != std::string::npos : entry.status.frozen;
  if (frozen || entry.first) entry.proven_at = now;  // nothing runs in it, and no canary either

  auto found = find_lost(record, entry, unclear);
  if (!found) return !entry.first;
  note_unclear(entry, record.name, std::move(unclear));
  if (found->changing && !is_unclear(entry)) return true;
  std::vector<Lost> lost = std::move(found->lost);
  std::string state = state_text(record, entry, frozen, lost);
  bool changed = entry.first || state != entry.state;
  const bool moved = record.moved_out != entry.moved_out;
  const std::vector<Lost> fresh = unanswered(entry, lost);
  if (entry.first) {
    read(entry, lost);
    // Taken down between the look and the reading: it is over, and nobody lost anything.
    if (lost.empty() && entry.status.isolation == Isolation::inactive && !confirmed(record, entry)) return false;
    // What was moved out before this watch began, and is not back or gone, nobody may have answered.
    entry.moved_out = has_processes_outside(entry.status) ? 0 : record.moved_out;
    entry.canary_due = now + static_cast<std::int64_t>(record.cgroup_id * 7919 % 60) * kSecond;
  }
  // Answered before anything is read for the telling of it.
  if (!fresh.empty() || record.moved_out != entry.moved_out) answer(entry, fresh, record.moved_out != entry.moved_out);
  const bool back = lost.empty() && !entry.lost.empty();
  // What can change without a trace above, where there is reason to ask: its processes outside, its resolver, what was
  // in the way.
  const bool ask =
      (record.moved_out > 0 || (record.flags & SBPF_SANDBOX_HOST_NAMES) != 0 || has_passing(entry.status)) &&
      now - entry.read_at >= kTellCounters;
  const Isolation before = entry.status.isolation;
  const std::size_t parts = entry.status.degraded.size();
  if (!entry.first && (changed || moved || ask)) read(entry, lost);
  if (ask && (entry.status.isolation != before || entry.status.degraded.size() != parts)) changed = true;
  if (back) restored(entry);
  if (lost.empty() || entry.sound_at == 0)
    entry.sound_at = day_ns();  // lost before this watch began: since it did, at least
  entry.lost = std::move(lost);
  entry.moved_out = record.moved_out;
  entry.state = std::move(state);
  entry.status.frozen = frozen;

  const bool counted = counters_differ(entry.status, record) && now - entry.told_at >= kTellCounters;
  if (changed || moved || counted) tell_counters(record, entry);
  entry.first = false;
  return true;
}

// Nobody else may be there to make room in the ring.
void Watch::collect_events(const sbpf_sandbox& record) {
  const auto found = entries_.find(record.cgroup_id);
  if (found == entries_.end() || found->second.collected == record.events) return;
  const auto collected = EventLog(*kernel_, record.cgroup_id).collect();
  if (!collected) complain(collected.error());
  found->second.collected = record.events;
}

// What concerns every sandbox of the host; nothing where there is none.
void Watch::look_at_all(bool none) {
  host_.clear();
  probe_ = {};
  if (none) return let_go();
  host_ = look_at_host(*kernel_, Depth::pins);
  probe_ = probe_host(*kernel_, alive_ ? alive_(*kernel_) : sentinel_.prove(*kernel_, kSentinelPatience));
  host_.insert(host_.end(), probe_.lost.begin(), probe_.lost.end());
  for (const Lost& one : probe_.unknown)
    complain({"liveness", one.reason, "it is asked again at each pass; links and programs are read back meanwhile", 0,
              "", true});
}

void Watch::tell_late(std::int64_t after) {
  // The first reads all sandboxes whole, and keeps the second waiting.
  if (!first_pass_) {
    first_pass_ = after;
    return;
  }
  after -= std::exchange(*first_pass_, 0);
  if (after <= kInTime || (late_told_at_ != 0 && now_ns() - late_told_at_ < kTellLate)) return;
  late_told_at_ = now_ns();
  sink_.error({"late",
               fmt::format("the watch is late: a pass ended {} ms after it was due, and a loss is answered as late",
                           after / 1'000'000),
               "something keeps the processors from it: run it as root with CAP_SYS_NICE, or on fewer sandboxes", 0, "",
               true});
}

Result<void> Watch::pass(std::int64_t late) {
  const std::uint64_t start = boottime_ns();
  WatchPass told;
  auto open = have_kernel();
  if (!open) return tl::unexpected<Error>(open.error());
  if (*open && !may_open_pins())
    return fail("not_the_agent", "another executable took over from this one, or this one is being traced",
                "start `sbpf watch` of the executable that took over", EPERM);
  if (*open) {
    mend_killed(*kernel_);
    bool whole = true;
    const auto all = read_registry(*kernel_, &whole);
    if (!whole)
      complain({"cannot_tell", fmt::format("the records of the sandboxes cannot all be read: {}", std::strerror(errno)),
                hint_for(errno), errno, "", true});
    snapshot_ = all.empty() ? Snapshot() : Snapshot(*kernel_);
    above_.clear();
    passes_++;
    look_at_all(all.empty() && entries_.empty());
    host_unclear_ = take_unclear(host_);
    std::set<std::uint64_t> present;
    for (const sbpf_sandbox& record : all) {
      auto [at, added] = entries_.try_emplace(record.cgroup_id);
      // The cgroup was taken into a sandbox anew.
      if (!added && !at->second.first && at->second.sound.record.created_ns != record.created_ns) {
        forget(record.cgroup_id);
        at = entries_.try_emplace(record.cgroup_id).first;
      }
      if (check(record, at->second))
        present.insert(record.cgroup_id);
      else if (at->second.first)
        entries_.erase(at);
    }
    if (whole) lost_records(present);
    for (const sbpf_sandbox& record : all) collect_events(record);
    repair();
    follow_mounts();
    start_canary();
  }
  // Where it cannot be told whether sbpf is loaded, nothing is unconfined for want of a record.
  if (*open || Kernel::pinned() == Seen::absent) hold_assigned();
  for (const auto& [id, entry] : entries_) {
    told.sandboxes++;
    told.canary_age_s = std::max(told.canary_age_s, static_cast<std::uint64_t>((now_ns() - entry.proven_at) / kSecond));
    (entry.status.isolation == Isolation::active     ? told.active
     : entry.status.isolation == Isolation::degraded ? told.degraded
                                                     : told.inactive)++;
  }
  told.at = day_ns();
  told.duration_us = (boottime_ns() - start) / 1000;
  told.late_us = static_cast<std::uint64_t>(late) / 1000;
  tell_late(late + static_cast<std::int64_t>(told.duration_us) * 1000);
  sink_.pass(told);
  return {};
}

}  // namespace sbpf::agent
