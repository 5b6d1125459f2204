// SPDX-License-Identifier: Apache-2.0
#include "agent/watch_assigned.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "agent/guard.h"
#include "agent/launchers.h"
#include "agent/supervise.h"
#include "agent/watch_state.h"
#include "base/child.h"

namespace sbpf::agent {
namespace {

constexpr std::int64_t kAttachAgain = 5 * kSecond;

// "ok", or three lines: the error's code, message and hint. Then "end".
std::string attach_lines(const Assignment& assignment) {
  AttachOptions options;
  options.cgroup = assignment.cgroup;
  options.name = assignment.name;
  options.evict = true;
  options.keep = true;
  options.proof_later = true;
  const auto done = attach(assignment.policy, options);
  if (done) return "ok\nend\n";
  std::string message = done.error().message;
  std::ranges::replace(message, '\n', ' ');
  return done.error().code + "\n" + message + "\n" + done.error().hint + "\nend\n";
}

Result<void> parse_answer(const std::string& text) {
  if (!text.ends_with("end\n")) return fail("attach", "the process that attaches it ended early", "it is tried again");
  if (text == "ok\nend\n") return {};
  const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
  return fail(text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1, text.size() - second - 6));
}

}  // namespace

AttachChild::~AttachChild() { end_child(pid_); }

Result<void> AttachChild::start(const Assignment& assignment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("spawn", std::string("cannot make a pipe: ") + std::strerror(errno), "", errno);
  pipe_ = Fd(ends[0]);
  const Fd writer(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail("spawn", std::string("cannot start a process: ") + std::strerror(errno), "", errno);
  if (pid == 0) {
    restore_signals();
    const sched_param ordinary{0};
    (void)::sched_setscheduler(0, SCHED_OTHER, &ordinary);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const std::string text = attach_lines(assignment);
    const bool written = ::write(writer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(written ? 0 : 1);
  }
  pid_ = pid;
  text_.clear();
  (void)::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  return {};
}

std::optional<Result<void>> AttachChild::answer() {
  if (!running()) return std::nullopt;
  std::array<char, 4096> buffer{};
  ssize_t n = 0;
  while ((n = ::read(pipe_.get(), buffer.data(), buffer.size())) > 0) text_.append(buffer.data(), static_cast<std::size_t>(n));
  if (n != 0) return std::nullopt;
  end_child(pid_);
  pipe_.reset();
  return parse_answer(text_);
}

// A record that is there, is being made or taken down, or of which it cannot be told, is no assignment without a sandbox. Nor is one
// that is missing while its cgroup lives: that is a loss of its own, which is repaired.
bool Watch::is_held(const std::string& name) const {
  if (!kernel_) return false;
  const auto record = find_record(*kernel_, name);
  if (!record) return record.error().code != "no_such_sandbox";
  if ((record->flags & SBPF_SANDBOX_KEPT) == 0) return false;  // another one took the name
  const auto cgroup = Cgroup::open_by_id(record->cgroup_id);
  return cgroup || !is_gone(cgroup.error());
}

// What runs at the path of an assignment that nothing confines: a loss, once for each such cgroup.
void Watch::answer_unheld(const Assignment& assignment, Unheld& unheld) {
  const auto cgroup = Cgroup::open(assignment.cgroup);
  if (!cgroup || cgroup->id() == unheld.answered || !cgroup->populated()) return;
  if (kernel_ && find_record(*kernel_, cgroup->id())) return;  // confined, by another name
  WatchLoss loss;
  loss.sandbox = assignment.name;
  loss.hooks = {"cgroup"};
  loss.reasons = {"a cgroup that nothing confines is at " + assignment.cgroup};
  loss.on_loss = assignment.policy.on_loss;
  loss.answered = "alerted";
  if (assignment.policy.mode == policy::Mode::enforce && loss.on_loss != policy::OnLoss::alert) {
    const bool freeze = loss.on_loss == policy::OnLoss::freeze;
    const auto done = freeze ? cgroup->write("cgroup.freeze", "1") : cgroup->write("cgroup.kill", "1");
    if (done)
      loss.answered = freeze ? "frozen" : "killed";
    else
      complain(done.error());
  }
  loss.at = unheld.lost_at = day_ns();
  unheld.answered = cgroup->id();
  audit("isolation of sandbox " + loss.sandbox + " was lost (" + loss.reasons.front() + "): " + loss.answered);
  sink_.loss(loss);
}

void Watch::hold(const std::string& name, bool looked_at) {
  const auto unheld = unheld_.find(name);
  if (looked_at || is_held(name)) {
    if (unheld == unheld_.end()) return;
    if (unheld->second.answered != 0) sink_.restored({name, {"cgroup"}, unheld->second.lost_at, day_ns()});
    unheld_.erase(unheld);
    return;
  }
  auto assignment = read_assignment(name);
  if (!assignment) {
    if (assignment.error().sys_errno != ENOENT) complain(assignment.error());  // else it ended just now
    return;
  }
  Unheld& one = unheld_[name];
  answer_unheld(*assignment, one);
  if (attaching_.running() || now_ns() < one.retry_at) return;
  one.retry_at = now_ns() + kAttachAgain;
  if (auto started = attaching_.start(*assignment); !started) complain(started.error());
}

void Watch::hold_assigned() {
  if (auto done = attaching_.answer(); done && !*done) complain(done->error());
  // While the glass is broken someone takes things down on purpose.
  if (kernel_ && kernel_->globals().guard.open_until > boottime_ns()) return;
  const auto names = assigned_names();
  std::erase_if(unheld_, [&](const auto& one) { return std::ranges::find(names, one.first) == names.end(); });
  if (names.empty()) return;
  std::set<std::string> looked_at;
  for (const auto& [id, entry] : entries_)
    if (const sbpf_sandbox& record = entry.sound.record; !entry.first && (record.flags & SBPF_SANDBOX_KEPT) != 0) looked_at.insert(record.name);
  for (const std::string& name : names) hold(name, looked_at.contains(name));
  if (!kernel_) return;
  // The service manager may have been upgraded.
  const std::string launchers = launchers_now();
  if (launchers == launchers_) return;
  if (auto noted = note_launchers(*kernel_); !noted) return complain(noted.error());
  launchers_ = launchers;
}

}  // namespace sbpf::agent
