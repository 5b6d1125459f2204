// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/watch_canary.h"

#include <poll.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "agent/commands/watch_state.h"
#include "agent/host/limits.h"
#include "agent/sandbox/journal.h"
#include "agent/verify/verify.h"
#include "base/clock.h"

namespace sbpf::agent {
namespace {

constexpr std::int64_t kPatienceNs = 60 * kSecond;  // twice its turn and its answer
constexpr std::int64_t kChangesFor = 5 * kSecond;

// What sbpf changes by itself is over in a moment.
std::optional<Status> prove_patiently(const Kernel& kernel, std::uint64_t cgroup_id) {
  const std::int64_t begin = now_ns();
  while (const auto record = find_record(kernel, cgroup_id)) {
    if (auto status = prove(kernel, *record, probe_host(kernel))) return status;
    if (now_ns() - begin > kChangesFor) return std::nullopt;
    ::poll(nullptr, 0, 50);
  }
  return std::nullopt;
}

// Lines: "denied", "lost WHAT\tREASON", "not_run WHY". No lock is held: whoever wants the host's does not wait for a
// canary.
std::string canary_lines(const Kernel& kernel, std::uint64_t cgroup_id) {
  std::string lines;
  // What a full memory or a full table of processes does to a canary once is no loss.
  for (int time = 0; time < 2; time++) {
    const auto status = prove_patiently(kernel, cgroup_id);
    if (!status || status->cgroup.empty() || status->frozen) return "not_run \n";
    lines.clear();
    for (const HookStatus& hook : status->hooks)
      if (hook.canary == "not denied")
        lines += std::string("lost ") + hook.hook->name + "\tthe canary was not denied\n";
    for (const Degradation& d : status->degraded) {
      if (d.what == "canary" && d.effective == "not run") return fmt::format("not_run {}\n", d.reason);
      if (d.what == "canary" && lines.empty()) lines += "lost canary\t" + d.reason + "\n";
      if (d.what == "policy" && d.effective != "not known") lines += "lost policy\t" + d.reason + "\n";
    }
    if (lines.empty()) return "denied\n";
  }
  return lines;
}

// Was it found because a part is missing that is known to be missing? Such a finding is ignored; a new canary runs
// after the repair, in a frozen sandbox once it is thawed. Kept, it would show a fault that is none.
bool follows_from(const Lost& found, const std::vector<Lost>& missing) {
  static constexpr std::array kNeeded = {"liveness", "overruled", "later", "policy", "storage", "gate"};
  return std::ranges::any_of(missing, [&](const Lost& one) {
    return one.what == found.what || std::ranges::find(kNeeded, one.what) != kNeeded.end();
  });
}

// Puts limits of the cgroup back that others loosened: systemd does, when it starts the unit. No lock is held, as the
// kernel may take long to make room. What was loosened; "": nothing.
Result<std::string> keep_limits(const Kernel& kernel, std::uint64_t cgroup_id) {
  const auto cgroup = Cgroup::open_by_id(cgroup_id);
  std::string what;
  for (int time = 0; cgroup && time < 2; time++) {
    const std::uint32_t policy_id = policy_map_id(kernel, cgroup_id);
    const auto image = read_policy(kernel, cgroup_id);
    if (!image || is_changing(kernel, cgroup_id)) break;
    const policy::Limits limits = policy::limits_of(image->slot<sbpf_policy_process>(SBPF_SLOT_PROCESS));
    // Of a policy that another one has replaced meanwhile: that one's are set, whatever is there.
    if (time == 1) (void)apply_limits(*cgroup, limits);
    const auto loosened = loosened_limits(*cgroup, limits);
    if (loosened.empty()) break;
    const Loosened& first = loosened.front();
    what = fmt::format("{} was {}, and the policy has {}", first.file, first.effective, first.requested);
    if (auto set = tighten_limits(*cgroup, limits); !set) return fail(std::move(set.error()), what);
    if (policy_map_id(kernel, cgroup_id) == policy_id && !is_changing(kernel, cgroup_id)) break;
  }
  return what;
}

// Lines: "limits WHAT\tWHY NOT", where limits were put back, or could not be.
std::string limit_lines(const Kernel& kernel, std::uint64_t cgroup_id) {
  const auto kept = keep_limits(kernel, cgroup_id);
  if (kept && kept->empty()) return "";
  return "limits " + (kept ? *kept + "\t" : kept.error().message + "\t" + kept.error().hint) + "\n";
}

// The process stays from canary to canary. What it opens of the kernel does not: an upgrade would have to wait for it.
std::string answer_for(const std::string& cgroup_id) {
  const auto kernel = Kernel::open();
  const std::uint64_t id = std::strtoull(cgroup_id.c_str(), nullptr, 10);
  if (kernel) return limit_lines(*kernel, id) + canary_lines(*kernel, id);
  return "not_run " + (kernel.error().code == "not_loaded" ? "" : kernel.error().message) + "\n";
}

}  // namespace

CanaryChild::CanaryChild() : child_(answer_for) {}

Result<void> CanaryChild::start(std::uint64_t cgroup_id) {
  cgroup_id_ = cgroup_id;
  started_ns_ = now_ns();
  auto started = child_.ask(std::to_string(cgroup_id));
  if (!started) started.error().code = "canary";
  return started;
}

std::optional<CanaryAnswer> CanaryChild::answer() {
  if (!running()) return std::nullopt;
  const auto told = child_.answer();
  const bool late = now_ns() - started_ns_ > kPatienceNs;
  if (!told && !late) return std::nullopt;
  if (!told) child_.end();
  CanaryAnswer answer;
  answer.cgroup_id = cgroup_id_;
  answer.started_ns = started_ns_;
  if (!told || !*told) answer.why = late ? "the canary gave no answer within 60 s" : "the canary's process ended early";
  std::istringstream lines(told ? told->value_or("") : "");
  for (std::string line; std::getline(lines, line);) {
    if (line == "denied") answer.kind = CanaryAnswer::Kind::denied;
    if (line.starts_with("not_run ")) answer.why = line.substr(8);
    const auto tab = line.find('\t');
    if (line.starts_with("limits ")) {
      answer.limits = line.substr(7, tab - 7);
      answer.limits_hint = tab == std::string::npos ? "" : line.substr(tab + 1);
    }
    if (!line.starts_with("lost ")) continue;
    answer.kind = CanaryAnswer::Kind::lost;
    answer.lost.push_back({line.substr(5, tab - 5), tab == std::string::npos ? "" : line.substr(tab + 1)});
  }
  return answer;
}

// What is missing besides what a canary found. The programs may have stopped since the last pass, which would have told
// it; and what that pass found may have been put back since the canary, and not told yet.
std::vector<Lost> Watch::missing_now(Entry& entry) {
  // Whoever else has called the hooks since the last pass.
  const HostProbe host = probe_host(*kernel_, sentinel_.prove_anew(*kernel_, kSentinelPatience));
  std::vector<Lost> missing = probe(*kernel_, entry.sound.record, entry.sound, Depth::pins, host);
  above_.clear();
  look_at_later(entry, missing, missing);
  (void)take_unclear(missing);
  missing.insert(missing.end(), entry.lost.begin(), entry.lost.end());
  return missing;
}

void Watch::start_canary() {
  if (canary_.running() || !kernel_) return;
  Entry* due = nullptr;
  std::uint64_t id = 0;
  const std::int64_t now = now_ns();
  for (auto& [cgroup_id, entry] : entries_)
    if (entry.canary_due <= now && !entry.status.frozen && (due == nullptr || entry.canary_due < due->canary_due)) {
      due = &entry;
      id = cgroup_id;
    }
  if (due == nullptr) return;
  due->canary_due = now + kCanaryPeriod;
  if (auto started = canary_.start(id); !started) complain(started.error());
}

void Watch::tell_limits(Entry& entry, const CanaryAnswer& answer) {
  entry.state.clear();  // it is read anew, and told
  const bool done = answer.limits_hint.empty();
  complain(
      {"limits",
       fmt::format("the limits of sandbox {}{}{}", entry.status.sandbox,
                   done ? " were put back: " : " cannot be put back: ", answer.limits),
       done ? "where a unit has the cgroup, set TasksMax=, MemoryMax= and CPUQuota= there too" : answer.limits_hint, 0,
       "", true});
}

void Watch::read_canary() {
  auto answer = canary_.answer();
  if (!answer) return;
  const auto found = entries_.find(answer->cgroup_id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (!answer->limits.empty()) tell_limits(entry, *answer);
  if (answer->kind == CanaryAnswer::Kind::not_run) {
    entry.no_canary = answer->why;
    if (!answer->why.empty())
      complain({"canary", fmt::format("no canary of sandbox {}: {}", entry.status.sandbox, answer->why),
                "it is tried again in a minute; the hooks are read back meanwhile", 0, "", true});
    return;
  }
  if (answer->is_of_before(entry.restored_at)) {
    entry.canary_due = now_ns();
    return;
  }
  if (!answer->lost.empty()) {
    const std::vector<Lost> missing = missing_now(entry);
    // What a canary before it had found without such a reason stands until one denies it.
    std::erase_if(answer->lost,
                  [&](const Lost& one) { return follows_from(one, missing) && !is_lost(entry.canary_lost, one.what); });
  }
  entry.canary_lost = answer->lost;
  if (answer->kind == CanaryAnswer::Kind::lost) {
    entry.canary_due = now_ns() + 5 * kSecond;
    return;  // answered by the pass, which comes at once
  }
  entry.canary_at = day_ns();
  entry.proven_at = now_ns();
  if (!entry.first) tell(entry);
}

}  // namespace sbpf::agent
