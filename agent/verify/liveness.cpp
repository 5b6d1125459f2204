// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/liveness.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "agent/host/cgroup.h"
#include "agent/host/sentinel_cgroup.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/proc_cgroup.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kSentinelPatienceNs = 10'000'000'000;
constexpr std::uint64_t kTrustAnswerNs = 5'000'000'000;
constexpr int kSentinelTries = 3;

sentinel::Counts counts(const Kernel& kernel) {
  sentinel::Counts now{};
  for (std::size_t i = 0; i < now.size(); i++)
    now[i] = __atomic_load_n(&kernel.globals().alive.ran[i], __ATOMIC_SEQ_CST);
  return now;
}

// The cgroup of sentinels, which goes with sbpf's root; and tells the programs which it is.
Result<Cgroup> sentinel_cgroup(const Kernel& kernel) {
  auto path = sentinel_path();
  if (!path) return tl::unexpected<Error>(path.error());
  if (::mkdir(path->c_str(), 0755) != 0 && errno != EEXIST)
    return fail("liveness", SystemError{errno}, "cannot make cgroup {}", *path);
  auto cgroup = Cgroup::open(*path);
  if (cgroup) __atomic_store_n(&kernel.globals().gate.alive_id, cgroup->id(), __ATOMIC_SEQ_CST);
  return cgroup;
}

std::string names_of(const std::vector<sbpf_hook>& hooks) {
  constexpr std::size_t kSome = 4;
  std::string text;
  for (std::size_t i = 0; i < hooks.size() && i < kSome; i++)
    text += (i == 0 ? "" : ", ") + std::string(all_hooks()[hooks[i]].name);
  return hooks.size() > kSome ? fmt::format("{} and {} more", text, hooks.size() - kSome) : text;
}

Liveness cannot_tell(std::string reason, bool disturbed = false) {
  return {Proof::unknown, std::move(reason), {}, {}, disturbed};
}

// Stopped by a signal or a tracer; or a child of it is, for which it waits.
bool is_stopped(pid_t pid) {
  const auto stopped = [](pid_t one) { return std::string_view("Tt").find(state_of(one)) != std::string_view::npos; };
  const std::string number = std::to_string(pid);
  const std::string child = read_file(fmt::format("/proc/{}/task/{}/children", number, number));
  return stopped(pid) || (!child.empty() && stopped(std::atoi(child.c_str())));
}

constexpr const char* kNotStarted = "cannot start a sentinel: ";

// ---- in the process that calls the hooks, or that starts one for each look ----

struct Calls {
  sentinel::Report* report;
  pid_t caller;
  std::uint32_t prog_id;
};

void set_untried(sentinel::Report& report) {
  report.not_started = report.moved = 0;
  report.error.fill(sentinel::kNotTried);
}

// Is it where it is counted? `own`: its own /proc/self/cgroup. Allocates nothing.
bool is_in_place(int own) {
  std::array<char, 1024> buffer{};
  const ssize_t n = ::pread(own, buffer.data(), buffer.size(), 0);
  if (n <= 0) return true;  // it cannot be told
  const std::string_view path = unified_cgroup({buffer.data(), static_cast<std::size_t>(n)});
  return path.empty() || path.ends_with(kSentinelCgroup);
}

void call_in_place(const Calls& calls) {
  const Fd own(::open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC));
  const bool before = is_in_place(own.get());
  sentinel::call_all(*calls.report, calls.caller, calls.prog_id);
  calls.report->moved = before && is_in_place(own.get()) ? 0 : 1;
}

int call_in_child(void* argument) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  call_in_place(*static_cast<const Calls*>(argument));
  return 0;
}

// The child shares this process's memory, and this process waits for it: nothing is copied. False: it was killed.
bool call_all_in_child(Calls calls) {
  alignas(16) char stack[64 << 10];
  const pid_t pid = ::clone(call_in_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &calls);
  if (pid < 0) {
    calls.report->not_started = errno;
    return true;
  }
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status);
}

// It reads the number of a program of ours for each look, until it is killed or its caller ends.
void answer_requests(int requests, int answers, bool stays, pid_t caller) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != caller) return;
  if (stays) (void)close_all_but({requests, answers});  // what the caller lets go of later is held by nobody
  sentinel::Report report;
  for (std::uint64_t asked = 0; ::read(requests, &asked, sizeof asked) == sizeof asked;) {
    const auto prog_id = static_cast<std::uint32_t>(asked);
    set_untried(report);
    if (!stays)
      call_in_place({&report, caller, prog_id});
    else if (!call_all_in_child({&report, caller, prog_id}))
      return;
    if (::write(answers, &report, sizeof report) != sizeof report) return;
  }
}

// In a procfs that is mounted nowhere, so that nobody can mount over it; else in the one that everybody sees. To let go
// of that mount waits for all processors, seconds on a busy host.
Fd open_switch() {
  constexpr const char* kPath = "sys/kernel/ftrace_enabled";
  const Fd filesystem(::fsopen("proc", FSOPEN_CLOEXEC));
  if (filesystem && ::fsconfig(filesystem.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
    const Fd mount(::fsmount(filesystem.get(), FSMOUNT_CLOEXEC, 0));
    if (Fd file(::openat(mount.get(), kPath, O_RDONLY | O_CLOEXEC)); file) return file;
  }
  return Fd(::open((std::string("/proc/") + kPath).c_str(), O_RDONLY | O_CLOEXEC));
}

// Why the kernel would run no LSM program: what /proc/sys says. Empty if it does not say.
std::string why_not_run(const Fd& file) {
  char value = 0;
  if (!file || ::pread(file.get(), &value, 1, 0) != 1 || value != '0') return "";
  return "kernel.ftrace_enabled is 0, so the kernel runs no LSM program";
}

}  // namespace

Sentinel::Sentinel(bool stays) : stays_(stays) {
  if (stays) switch_ = open_switch();
}

namespace sentinel {

Liveness judge(const Report& report, const Counts& before, const Counts& after) {
  Liveness found;
  std::size_t ran = 0;
  for (const Hook& hook : hooks()) {
    if (!calls(hook.id) || report.error[hook.id] == kNotTried) continue;
    if (before[hook.id] != after[hook.id])
      ran++;
    else
      (passed(hook.id, report.error[hook.id]) ? found.stopped : found.untold).push_back(hook.id);
  }
  if (!found.stopped.empty()) {
    found.proof = Proof::stopped;
    found.reason = "attached, and not run by the kernel: " + names_of(found.stopped);
  } else if (ran > found.untold.size()) {
    found.proof = Proof::runs;
  } else {
    found.reason = "most hooks could not be called: " + names_of(found.untold);
  }
  return found;
}

bool all_counted(const Counts& before, const Counts& now, const std::vector<sbpf_hook>& but) {
  return std::ranges::all_of(hooks(), [&](const Hook& hook) {
    return !calls(hook.id) || before[hook.id] != now[hook.id] || std::ranges::find(but, hook.id) != but.end();
  });
}

}  // namespace sentinel

void Sentinel::end() {
  end_child(pid_);
  asked_ = false;
  pidfd_.reset();
  requests_.reset();
  answers_.reset();
}

void Sentinel::reset() {
  end();
  last_ = {};
  proven_ns_ = 0;
}

Result<void> Sentinel::start(const Kernel& kernel) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("liveness", SystemError{errno}, "cannot make a pipe");
  answers_ = Fd(ends[0]);
  const Fd writer(ends[1]);
  requests_ = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!requests_) return fail("liveness", SystemError{errno}, "cannot make an eventfd");
  const pid_t caller = ::getpid();
  int error = 0;
  // One that was opened may be removed before it is used: it is empty, and no sandbox.
  for (int time = 0; time < kSentinelTries; time++) {
    auto cgroup = sentinel_cgroup(kernel);
    if (!cgroup) return tl::unexpected<Error>(cgroup.error());
    auto pid = clone_into(*cgroup, pidfd_);
    if (!pid && pid.error().sys_errno == ENODEV) {
      error = ENODEV;
      continue;
    }
    if (!pid) return tl::unexpected<Error>(pid.error());
    if (*pid == 0) {
      answer_requests(requests_.get(), writer.get(), stays_, caller);
      ::_exit(0);
    }
    pid_ = *pid;
    return {};
  }
  return fail("liveness", std::string(kNotStarted) + std::strerror(error), "", error);
}

Liveness Sentinel::prove_once(const Kernel& kernel, std::chrono::milliseconds patience) {
  if (pid_ <= 0)
    if (auto started = start(kernel); !started) {
      end();
      release_sentinels();
      return cannot_tell(started.error().message);
    }
  if (!asked_) {
    const std::uint64_t program = kernel.meta(SBPF_HOOK_connect4).prog_id;
    before_ = counts(kernel);
    asked_ = ::write(requests_.get(), &program, sizeof program) == sizeof program;
    asked_ns_ = boottime_ns();
  }
  pollfd waiting{answers_.get(), POLLIN, 0};
  const bool over = ::poll(&waiting, 1, static_cast<int>(patience.count())) == 1;
  if (!over) {
    release_sentinels();
    const bool stopped = is_stopped(pid_);
    if (stopped || boottime_ns() - asked_ns_ > kSentinelPatienceNs) end();
    return cannot_tell(
        stopped ? "somebody stopped the sentinel"
                : "the sentinel did not answer in time: the host is busy, or its cgroup is frozen or at a limit",
        stopped);
  }
  sentinel::Report report{};
  const bool whole = ::read(answers_.get(), &report, sizeof report) == sizeof report;
  const sentinel::Counts after = counts(kernel);
  asked_ = false;
  Liveness found;
  if (!whole) {
    found = cannot_tell("the sentinel was ended before it answered", true);
    // Where that was by cgroup.kill some kernels (6.12) kill whatever clone3 starts there: the next one makes it anew.
    end();
    if (const auto path = sentinel_path(); path) (void)::rmdir(path->c_str());
  } else if (report.moved != 0) {
    found = cannot_tell("the sentinel was moved out of its cgroup", true);
  } else if (report.not_started != 0) {
    release_sentinels();
    found = cannot_tell(std::string(kNotStarted) + std::strerror(report.not_started));
  } else {
    found = sentinel::judge(report, before_, after);
  }
  if (!stays_ || found.proof != Proof::runs) end();
  return found;
}

Liveness Sentinel::ask(const Kernel& kernel, std::chrono::milliseconds patience) {
  Liveness found = prove_once(kernel, patience);
  seen_ = counts(kernel);
  // Its cgroup may have been made anew by another one meanwhile, so that it was taken for a stranger; and a loss is
  // seen twice.
  if (!asked_ &&
      (found.proof == Proof::stopped || (found.proof == Proof::unknown && (found.disturbed || !found.untold.empty()))))
    found = prove_once(kernel, patience);
  // Who keeps the sentinel from its answer hides nothing by that.
  if (found.proof == Proof::runs) return found;
  if (!switch_) switch_ = open_switch();
  if (const std::string why = why_not_run(switch_); !why.empty())
    return {Proof::stopped, fmt::format("{} ({})", why, found.reason), found.stopped, found.untold};
  return found;
}

Liveness Sentinel::prove(const Kernel& kernel, std::chrono::milliseconds patience) {
  const sentinel::Counts now = counts(kernel);
  if (!asked_ && last_.proof == Proof::runs && sentinel::all_counted(seen_, now, last_.untold)) {
    seen_ = now;
    proven_ns_ = boottime_ns();
    return last_;
  }
  Liveness found = ask(kernel, patience);
  if (found.proof == Proof::unknown && !found.disturbed && boottime_ns() - proven_ns_ < kTrustAnswerNs) return last_;
  if (found.proof == Proof::unknown) return found;
  proven_ns_ = boottime_ns();
  last_ = found;
  return found;
}

Liveness Sentinel::prove_anew(const Kernel& kernel, std::chrono::milliseconds patience) {
  if (asked_) end();
  return ask(kernel, patience);
}

}  // namespace sbpf::agent
