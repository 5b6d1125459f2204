// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/watch_assigned.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>

#include "agent/agent.h"
#include "agent/commands/watch_state.h"
#include "agent/kernel/guard.h"
#include "agent/kernel/launchers.h"
#include "agent/sandbox/journal.h"

namespace sbpf::agent {
namespace {

constexpr std::int64_t kAttachAgain = 5 * kSecond;

// "ok\n", or three lines: the error's code, message and hint.
std::string lines_of(const Result<Status>& done) {
  if (done || done.error().code == "no_such_sandbox") return "ok\n";  // it ended just now
  std::string message = done.error().message;
  std::ranges::replace(message, '\n', ' ');
  return fmt::format("{}\n{}\n{}\n", done.error().code.str(), message, done.error().hint);
}

Result<void> parse_answer(const std::optional<std::string>& told) {
  if (!told) return fail("attach", "the process that attaches it ended early", "it is tried again");
  if (*told == "ok\n") return {};
  const std::size_t first = told->find('\n'), second = told->find('\n', first + 1);
  return fail(ErrorCode::relayed(told->substr(0, first)), told->substr(first + 1, second - first - 1),
              told->substr(second + 1, told->size() - second - 2));
}

bool runs_something(const Cgroup& cgroup) {
  const auto events = cgroup.read("cgroup.events");
  return events && events->find("populated 1") != std::string::npos;
}

// Also where that cannot be told.
bool has_connect_program(int cgroup) {
  std::uint32_t flags = 0, count = 0;
  return bpf_prog_query(cgroup, BPF_CGROUP_INET4_CONNECT, 0, &flags, nullptr, &count) != 0 || count != 0;
}

}  // namespace

std::string attach_lines(const std::string& name) { return lines_of(reattach(name)); }

// A record that is there, is being made or taken down, or of which it cannot be told, is no assignment without a
// sandbox. Nor is one that is missing while its cgroup lives: that is a loss of its own, which is repaired.
bool Watch::is_confined(const std::string& name) const {
  if (!kernel_) return false;
  const auto record = find_record(*kernel_, name);
  if (!record) return record.error().code != "no_such_sandbox";
  if ((record->flags & SBPF_SANDBOX_KEPT) == 0) return false;  // another one took the name
  const auto cgroup = Cgroup::open_by_id(record->cgroup_id);
  return cgroup || !is_gone(cgroup.error());
}

// What runs at the path of an assignment that nothing confines: a loss, once for each such cgroup.
void Watch::answer_unconfined(const Assignment& assignment, Unconfined& unconfined) {
  const auto cgroup = Cgroup::open(assignment.cgroup);
  if (!cgroup || cgroup->id() == unconfined.answered || !runs_something(*cgroup)) return;
  if (kernel_ && record_seen(*kernel_, cgroup->id()) != Seen::absent)
    return;                                                   // confined, by another name; or it cannot be told
  if (!kernel_ && has_connect_program(cgroup->fd())) return;  // sbpf's, of which the pins are covered
  WatchLoss loss;
  loss.sandbox = assignment.name;
  loss.hooks = {"cgroup"};
  loss.reasons = {fmt::format("a cgroup that nothing confines is at {}", assignment.cgroup)};
  loss.on_loss = assignment.policy.on_loss;
  stop(loss, &*cgroup, nullptr, assignment.policy.mode);
  unconfined.lost_at = loss.at;
  unconfined.answered = cgroup->id();
  sink_.loss(loss);
}

void Watch::confine(const std::string& name, bool looked_at) {
  const auto unconfined = unconfined_.find(name);
  if (looked_at || is_confined(name)) {
    if (unconfined == unconfined_.end()) return;
    if (unconfined->second.answered != 0) sink_.restored({name, {"cgroup"}, unconfined->second.lost_at, day_ns()});
    unconfined_.erase(unconfined);
    return;
  }
  auto assignment = read_assignment(name);
  if (!assignment) {
    if (assignment.error().sys_errno != ENOENT) complain(assignment.error());  // else it ended just now
    return;
  }
  Unconfined& one = unconfined_[name];
  answer_unconfined(*assignment, one);
  if (attaching_.running() || now_ns() < one.retry_at) return;
  one.retry_at = now_ns() + kAttachAgain;
  if (auto asked = attaching_.ask(name); !asked) complain(asked.error());
}

void Watch::finish() {
  attaching_.end();
  refreshing_.end();
  if (!kernel_ || !is_changing(*kernel_)) return;
  if (const auto lock = lock_host(std::chrono::seconds(1))) mend(*kernel_);
}

void Watch::hold_assigned() {
  if (const auto told = attaching_.answer()) {
    attaching_.end();  // it is seldom needed
    if (auto done = parse_answer(*told); !done) complain(done.error());
  }
  // While the glass is broken someone takes things down on purpose.
  if (kernel_ && kernel_->globals().guard.open_until > boottime_ns()) return;
  const auto names = assigned_names();
  std::erase_if(unconfined_, [&](const auto& one) { return std::ranges::find(names, one.first) == names.end(); });
  if (names.empty()) return;
  std::set<std::string> looked_at;
  for (const auto& [id, entry] : entries_)
    if (const sbpf_sandbox& record = entry.sound.record; !entry.first && (record.flags & SBPF_SANDBOX_KEPT) != 0)
      looked_at.insert(record.name);
  for (const std::string& name : names) confine(name, looked_at.contains(name));
  if (!kernel_) return;
  // The service manager may have been upgraded.
  const std::string launchers = launchers_now();
  if (launchers == launchers_) return;
  if (auto noted = note_launchers(*kernel_); !noted) return complain(noted.error());
  launchers_ = launchers;
}

}  // namespace sbpf::agent
