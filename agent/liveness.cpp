// SPDX-License-Identifier: Apache-2.0
#include "agent/liveness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/cgroup.h"
#include "base/child.h"
#include "base/clock.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kSentinelPatienceNs = 10'000'000'000;
constexpr std::uint64_t kTrustAnswerNs = 5'000'000'000;
constexpr int kSentinelTries = 3;
constexpr const char* kSentinelName = "/.alive";  // no sandbox has such a name

sentinel::Counts counts(const Kernel& kernel) {
  sentinel::Counts now{};
  for (std::size_t i = 0; i < now.size(); i++) now[i] = __atomic_load_n(&kernel.globals().alive.ran[i], __ATOMIC_SEQ_CST);
  return now;
}

Result<std::string> sentinel_path() {
  auto mount = cgroup2_mount();
  if (!mount) return mount;
  return *mount + "/" + std::string(kRootCgroupName) + kSentinelName;
}

// Somebody may have stopped what is in the cgroup of sentinels, or let nothing in: it is nobody's but ours.
void release_sentinels() {
  auto path = sentinel_path();
  if (!path) return;
  auto cgroup = Cgroup::open(*path);
  if (!cgroup) return;
  (void)cgroup->write("cgroup.freeze", "0");
  (void)cgroup->write("pids.max", "max");
}

// The cgroup of sentinels, which goes with the next collection of what has no record; and tells the programs which it is.
Result<Cgroup> sentinel_cgroup(const Kernel& kernel) {
  auto path = sentinel_path();
  if (!path) return tl::unexpected<Error>(path.error());
  if (::mkdir(path->c_str(), 0755) != 0 && errno != EEXIST)
    return fail("liveness", "cannot make cgroup " + *path + ": " + std::strerror(errno), "", errno);
  auto cgroup = Cgroup::open(*path);
  if (cgroup) __atomic_store_n(&kernel.globals().gate.alive_id, cgroup->id(), __ATOMIC_SEQ_CST);
  return cgroup;
}

std::string names_of(const std::vector<sbpf_hook>& hooks) {
  constexpr std::size_t kSome = 4;
  std::string text;
  for (std::size_t i = 0; i < hooks.size() && i < kSome; i++) text += (i == 0 ? "" : ", ") + std::string(all_hooks()[hooks[i]].name);
  return hooks.size() > kSome ? text + " and " + std::to_string(hooks.size() - kSome) + " more" : text;
}

Liveness cannot_tell(std::string reason) { return {Proof::unknown, std::move(reason), {}, {}}; }

}  // namespace

std::string why_not_run() {
  const Fd file(::open("/proc/sys/kernel/ftrace_enabled", O_RDONLY | O_CLOEXEC));
  char value = 0;
  if (!file || ::read(file.get(), &value, 1) != 1 || value != '0') return "";
  return "kernel.ftrace_enabled is 0, so the kernel runs no LSM program";
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
  for (const Hook& hook : hooks())
    if (calls(hook.id) && before[hook.id] == now[hook.id] && std::ranges::find(but, hook.id) == but.end()) return false;
  return true;
}

}  // namespace sentinel

void Sentinel::end() {
  end_child(pid_);
  pidfd_.reset();
  pipe_.reset();
}

Result<void> Sentinel::start(const Kernel& kernel) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("liveness", std::string("cannot make a pipe: ") + std::strerror(errno), "", errno);
  pipe_ = Fd(ends[0]);
  const Fd writer(ends[1]);
  const pid_t parent = ::getpid();
  const std::uint32_t program = kernel.meta(SBPF_HOOK_connect4).prog_id;
  int error = 0;
  // One that was opened may be removed before it is used: it is empty, and no sandbox.
  for (int time = 0; time < kSentinelTries; time++) {
    auto cgroup = sentinel_cgroup(kernel);
    if (!cgroup) return tl::unexpected<Error>(cgroup.error());
    before_ = counts(kernel);
    auto pid = clone_into(*cgroup, pidfd_);
    if (!pid && pid.error().sys_errno == ENODEV) {
      error = ENODEV;
      continue;
    }
    if (!pid) return tl::unexpected<Error>(pid.error());
    if (*pid == 0) {
      sentinel::Report report;
      sentinel::call_all(report, parent, program);
      (void)!::write(writer.get(), &report, sizeof report);
      ::_exit(0);
    }
    pid_ = *pid;
    started_ns_ = boottime_ns();
    return {};
  }
  return fail("liveness", std::string("cannot start a sentinel: ") + std::strerror(error), "", error);
}

Liveness Sentinel::look_once(const Kernel& kernel, std::chrono::milliseconds patience) {
  if (pid_ <= 0)
    if (auto started = start(kernel); !started) {
      end();
      release_sentinels();
      return cannot_tell(started.error().message);
    }
  pollfd waiting{pipe_.get(), POLLIN, 0};
  const bool over = ::poll(&waiting, 1, static_cast<int>(patience.count())) == 1;
  if (!over) {
    release_sentinels();
    if (boottime_ns() - started_ns_ > kSentinelPatienceNs) end();
    return cannot_tell("the sentinel did not answer in time: the host is busy, or its cgroup is frozen or at a limit");
  }
  sentinel::Report report{};
  const bool whole = ::read(pipe_.get(), &report, sizeof report) == sizeof report;
  const sentinel::Counts before = before_, after = counts(kernel);
  end();
  if (!whole) return cannot_tell("the sentinel was ended before it answered");
  return sentinel::judge(report, before, after);
}

Liveness Sentinel::look(const Kernel& kernel, std::chrono::milliseconds patience) {
  const sentinel::Counts now = counts(kernel);
  if (pid_ <= 0 && last_.proof == Proof::runs && sentinel::all_counted(seen_, now, last_.untold)) {
    seen_ = now;
    proven_ns_ = boottime_ns();
    return last_;
  }
  Liveness found = look_once(kernel, patience);
  seen_ = counts(kernel);
  // Its cgroup may have been made anew by another one meanwhile, so that it was taken for a stranger; and a loss is seen twice.
  if (pid_ <= 0 && (found.proof == Proof::stopped || (found.proof == Proof::unknown && !found.untold.empty())))
    found = look_once(kernel, patience);
  // Who keeps the sentinel from its answer hides nothing by that.
  if (found.proof != Proof::runs)
    if (const std::string why = why_not_run(); !why.empty()) found = {Proof::stopped, why + " (" + found.reason + ")", found.stopped, found.untold};
  if (found.proof == Proof::unknown && boottime_ns() - proven_ns_ < kTrustAnswerNs) return last_;
  if (found.proof == Proof::unknown) return found;
  proven_ns_ = boottime_ns();
  last_ = found;
  return found;
}

}  // namespace sbpf::agent
