// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/supervisor.h"

#include <bpf/bpf.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <optional>

#include "agent/host/announced_end.h"
#include "agent/host/deadline.h"
#include "agent/host/mount_places.h"
#include "agent/kernel/guard.h"
#include "agent/launch/run_options.h"
#include "agent/sandbox/ended.h"
#include "agent/sandbox/event_log.h"
#include "agent/sandbox/events.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/refresh.h"
#include "agent/verify/loss_answer.h"
#include "agent/verify/verify.h"
#include "base/poll.h"

namespace sbpf::agent {
namespace {

constexpr int kTellUnclear = 10;                               // passes
constexpr auto kWatchPeriod = std::chrono::milliseconds(500);  // a loss is answered within a second

// Sent to us and meant for the program. SIGINT and SIGQUIT from a terminal reach the program by itself: it is in the
// same process group; they only must not end us.
constexpr std::array kForwarded = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
constexpr std::array kFromTerminal = {SIGINT, SIGQUIT};

Fd make_timer(std::chrono::milliseconds first, std::chrono::milliseconds period) {
  Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const auto spec = [](std::chrono::milliseconds t) { return timespec{t.count() / 1000, t.count() % 1000 * 1000000}; };
  itimerspec when{spec(period), spec(first)};
  ::timerfd_settime(timer.get(), 0, &when, nullptr);
  return timer;
}

// Timers are that have expired, and processes' descriptors that have ended.
bool is_readable(const Fd& fd) {
  pollfd waiting{fd.get(), POLLIN, 0};
  return fd && ::poll(&waiting, 1, 0) == 1;
}

}  // namespace

void restore_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // What the caller ignores (nohup) stays ignored, as across any exec; SIGPIPE is ignored by sbpf itself.
  ::signal(SIGPIPE, SIG_DFL);
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

bool has_stopped(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid;
}

ForwardedSignals::ForwardedSignals() {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (int signal : kForwarded) ::sigaddset(&mask, signal);
  for (int signal : kFromTerminal) ::sigaddset(&mask, signal);
  ::sigaddset(&mask, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  fd_ = Fd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

ForwardedSignals::~ForwardedSignals() { ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr); }

Supervisor::Supervisor(Kernel& kernel, const Cgroup& cgroup, const sbpf_sandbox& record, const Status& verified,
                       const RunOptions& options)
    : kernel_(kernel),
      cgroup_(cgroup),
      record_(record),
      options_(options),
      log_(kernel, record.cgroup_id),
      advice_(kernel, record.cgroup_id) {
  watch_timer_ = make_timer(kWatchPeriod, kWatchPeriod);
  // It was read whole a moment ago.
  sound_.policy_id = policy_map_id(kernel, cgroup.id());
  sound_.policy = Fd(bpf_map_get_fd_by_id(sound_.policy_id));
  sound_.generation = verified.generation;
  learn(verified, {});
  (void)later_.newcomers(programs_after(kernel, cgroup.fd()), trusted_);
}

std::vector<Lost> Supervisor::find_lost(const HostProbe& host) {
  std::vector<Lost> lost = probe(kernel_, record_, sound_, Depth::links, host);
  const auto came = later_.newcomers(programs_after(kernel_, cgroup_.fd()), trusted_);
  if (!came) lost.push_back({"later", came.error().message, true});
  for (const Later& one : came ? *came : std::vector<Later>{})
    lost.push_back({"later", describe(one), false, one.prog_id});
  // Who takes the sandbox down has killed what is in it first.
  const Seen record = record_seen(kernel_, record_.cgroup_id);
  if (record == Seen::absent && cgroup_.populated() && !is_marked_ended(record_) &&
      !is_changing(kernel_, record_.cgroup_id))
    lost.push_back({"record", "the sandbox's record is missing"});
  return lost;
}

bool Supervisor::is_collected(const Fd& program) const {
  return is_readable(program) && !cgroup_.populated() &&
         (is_changing(kernel_, record_.cgroup_id) || record_seen(kernel_, record_.cgroup_id) == Seen::absent);
}

void ForwardedSignals::forward(pid_t pid) const {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    const bool from_terminal = signal == SIGINT || signal == SIGQUIT;
    // The kernel's own (a key on the terminal) went to the whole foreground group, the program included.
    if (signal == SIGCHLD || (from_terminal && info.ssi_code == SI_KERNEL)) continue;
    ::kill(pid, signal);
  }
}

void Supervisor::learn(const Status& status, const std::vector<Lost>& lost) {
  if (is_lost(lost, "policy") ||
      std::ranges::any_of(status.degraded, [](const Degradation& d) { return d.what == "policy"; }))
    return;
  learned_from_ = sound_.policy_id;
  mode_ = status.mode;
  on_loss_ = status.on_loss;
  trusted_ = status.trusted_programs;
}

void Supervisor::answer_loss(const HostProbe& host, const std::vector<Lost>& lost) {
  Status status = read_status(kernel_, record_, false, host);
  learn(status, lost);
  note_lost(status, lost);
  status.mode = mode_;
  status.on_loss = on_loss_;
  std::vector<std::string> reasons;
  for (const Lost& one : lost) reasons.push_back(fmt::format("{}: {}", one.what, one.reason));
  const Answer answer = agent::answer_loss(
      &kernel_, &cgroup_, {status.sandbox, record_.cgroup_id, false, mode_, on_loss_, reasons.front()});
  if (answer.failed && options_.on_warning) options_.on_warning(answer.failed->message);
  killed_for_loss_ = killed_for_loss_ || answer.done == "killed";
  status.frozen = answer.done == "frozen" || cgroup_.frozen();
  if (options_.on_loss) options_.on_loss(status, reasons);
}

void Supervisor::note_unclear(const std::string& why) {
  unclear_passes_ = why.empty() ? 0 : unclear_passes_ + 1;
  if (unclear_passes_ != kTellUnclear || !options_.on_warning) return;
  options_.on_warning(fmt::format(
      "degraded: for {} s it cannot be told how the isolation of {} stands: {}; nothing is taken for lost meanwhile",
      kTellUnclear / 2, record_.name, why));
}

void Supervisor::watch(const Fd& program) {
  std::uint64_t ticks = 0;
  (void)!::read(watch_timer_.get(), &ticks, sizeof ticks);
  kernel_.renew();
  const HostProbe host = probe_host(kernel_, sentinel_.prove(kernel_, kSentinelPatience));
  std::vector<Lost> lost = find_lost(host);
  const std::vector<Lost> unclear = take_unclear(lost);
  // Who exchanges the programs may be stopped at it.
  const bool exchanged = !lost.empty() && (is_upgrading(kernel_) || kernel_.outdated());
  note_unclear(exchanged                          ? "sbpf's programs are being exchanged"
               : lost.empty() && !unclear.empty() ? unclear.front().reason
                                                  : "");
  if (exchanged) return mend_killed(kernel_);
  if (!lost.empty() && is_collected(program)) lost = host.lost;  // its own parts went with it
  if (auto now = find_record(kernel_, record_.cgroup_id)) record_ = *now;
  if (sound_.policy_id != learned_from_) learn(read_status(kernel_, record_, false, host), lost);
  // Each part is answered once; one that was mended and comes back is answered again.
  std::vector<Lost> fresh;
  std::ranges::copy_if(lost, std::back_inserter(fresh), [&](const Lost& one) { return !is_answered(lost_, one); });
  if (record_.moved_out != moved_out_)
    fresh.push_back({"processes", "root outside moved a process out of the sandbox"});
  if (!unclear.empty()) lost.insert(lost.end(), lost_.begin(), lost_.end());  // of what cannot be told now
  lost_ = std::move(lost);
  moved_out_ = record_.moved_out;
  if (!fresh.empty()) answer_loss(host, fresh);
}

// Once, at the first event: most runs have none.
const std::vector<Mount>& Supervisor::its_own_mounts() {
  if (its_own_mounts_) return *its_own_mounts_;
  constexpr std::size_t kMostBytes = 1 << 20;
  // By this descriptor: its name in /proc is by now that of the host's mounts.
  const auto text = mountinfo_ ? read_up_to(mountinfo_, kMostBytes) : std::nullopt;
  return its_own_mounts_.emplace(mounts_of_its_own(parse_mounts(text.value_or("")), own_mounts()));
}

Event Supervisor::explained(const sbpf_fs_event& raw) {
  Event event = explain_event(raw, record_.name, its_own_mounts());
  advice_.complete(event);
  return event;
}

bool Supervisor::take_events() {
  const auto collected = log_.collect();
  if (!collected && !std::exchange(log_complained_, true) && options_.on_warning)
    options_.on_warning(collected.error().message);
  if (options_.on_event) log_.read_new([&](const sbpf_fs_event& raw) { options_.on_event(explained(raw)); });
  return collected.value_or(true);
}

void Supervisor::take_last_events(RunResult& result) {
  (void)log_.collect();
  const auto take = [&](const sbpf_fs_event& raw) {
    Event event = explained(raw);
    if (options_.on_event) options_.on_event(event);
    if (raw.event.verdict != SBPF_ALLOW) result.denials.push_back(std::move(event));
  };
  log_.read_new(take, true);
  if (const auto now = find_record(kernel_, record_.cgroup_id)) result.lost_events = now->lost_full + now->lost_rate;
  if (!options_.on_event)
    result.lost_events = result.lost_events.value_or(0) + log_.dropped();  // else they were read before
}

void Supervisor::follow_mounts(Fd mountinfo, KeptPolicy began_with) {
  mountinfo_ = std::move(mountinfo);
  began_with_ = std::move(began_with);
}

bool Supervisor::look_up_anew() {
  const auto refreshed = refresh_paths(kernel_, cgroup_, began_with_ ? &*began_with_ : nullptr);
  if (!refreshed && options_.on_warning)
    options_.on_warning(fmt::format("the policy does not reach what was mounted: {}", refreshed.error().message));
  return !refreshed || *refreshed;
}

void Supervisor::serve(const Spawned& program, bool signals, bool pass) {
  if (signals) {
    signals_.forward(program.pid);
    if (options_.on_stopped && has_stopped(program.pid)) options_.on_stopped(program.pid);
  }
  if (pass) watch(program.pidfd);
  if (mounts_due_) mounts_due_ = !look_up_anew();
  if (pass && options_.on_pass) options_.on_pass();
}

void Supervisor::end_of_helper(const char* what) {
  if (options_.on_warning) options_.on_warning(fmt::format("{} in {}", what, record_.name));
}

RunResult Supervisor::wait(const Spawned& program) {
  // A look takes mutexes that the host has once, such as that of all cgroups: whoever waits for a processor with one of
  // them keeps others waiting, `sbpf watch` too. The program is a process of its own by now, and keeps the caller's
  // priority.
  (void)::setpriority(PRIO_PROCESS, 0, -20);
  RunResult result;
  Deadline guard;
  if (options_.timeout) {
    deadline_ = make_timer(*options_.timeout, std::chrono::milliseconds(0));
    if (auto started = guard.start(cgroup_, std::chrono::steady_clock::now() + *options_.timeout);
        !started && options_.on_warning)
      options_.on_warning(fmt::format("the timeout hangs on this process alone: {}", started.error().message));
  }
  std::array<pollfd, 11> waiting{{{program.pidfd.get(), POLLIN, 0},
                                  {signals_.fd(), POLLIN, 0},
                                  {watch_timer_.get(), POLLIN, 0},
                                  {deadline_.get(), POLLIN, 0},
                                  {mountinfo_.get(), POLLPRI, 0},
                                  {resolver_ ? resolver_->told.get() : -1, POLLIN, 0},
                                  {resolver_ ? resolver_->process.pidfd.get() : -1, POLLIN, 0},
                                  {log_.ring(), POLLIN, 0},
                                  {program.report.get(), POLLIN, 0},
                                  {relay_ ? relay_->process.pidfd.get() : -1, POLLIN, 0},
                                  {-1, POLLIN, 0}}};
  while (true) {
    waiting[10].fd = calls_ && !calls_->is_over_rate() ? calls_->fd() : -1;
    if (poll_all(waiting.data(), waiting.size()) < 0 && errno != EINTR) break;
    if (waiting[3].revents != 0) {
      result.timed_out = true;
      (void)cgroup_.kill();
      waiting[3].fd = -1;
    }
    if (waiting[8].revents != 0) {
      waiting[8].fd = -1;
      result.not_started = program.why_not_started(options_.argv.front());
      if (!result.not_started && options_.on_started) options_.on_started();
    }
    mounts_due_ = mounts_due_ || waiting[4].revents != 0;
    if (waiting[5].revents != 0) relay_announcements(kernel_, resolver_->told);
    if (waiting[6].revents != 0) {
      waiting[5].fd = waiting[6].fd = -1;
      end_of_helper("the resolver ended: no host name resolves any more");
    }
    if (waiting[9].revents != 0) {
      waiting[9].fd = -1;
      relay_->refuse();
      end_of_helper("the relay ended: nothing is reached beyond the sandbox's own loopback any more");
    }
    if (waiting[10].revents != 0)
      calls_->take([&](const RefusedCall& call) { announce_call(kernel_, record_.cgroup_id, call); });
    const bool pass = waiting[2].revents != 0;
    if (pass && calls_) calls_->pass();
    // Who is at it may be stopped: not waited for, but asked again at the next pass.
    if (pass || waiting[7].revents != 0) waiting[7].fd = take_events() ? log_.ring() : -1;
    serve(program, waiting[1].revents != 0, pass);
    if (waiting[0].revents != 0) break;
  }
  finish(program, result);
  return result;
}

void Supervisor::finish(const Spawned& program, RunResult& result) {
  // What the program left running ends with it; a frozen cgroup dies too. First, as a tracer inside could keep its end
  // to itself.
  if (cgroup_.populated()) (void)cgroup_.kill();
  int status = 0;
  ::waitpid(program.pid, &status, 0);
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // The other one that keeps the time may have been first.
  result.timed_out = result.timed_out || (result.signal == SIGKILL && is_readable(deadline_));
  result.exit_code = result.timed_out ? 124 : exit_code_of(status);
  result.killed_for_loss = killed_for_loss_;
  result.taken_down = is_end_announced(cgroup_);
  result.usage = read_usage(cgroup_);
  if (resolver_) relay_announcements(kernel_, resolver_->told);
  take_last_events(result);
}

}  // namespace sbpf::agent
