// SPDX-License-Identifier: Apache-2.0
// While the sandboxed program runs: signals, timeout, and the watch over the hooks. Nothing here waits for what others
// may hold.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>

#include "agent/dns/resolver_process.h"
#include "agent/launch/refused_calls.h"
#include "agent/launch/relay_process.h"
#include "agent/launch/run_options.h"
#include "agent/launch/spawn.h"
#include "agent/sandbox/event_advice.h"
#include "agent/sandbox/event_log.h"
#include "agent/sandbox/policy_text.h"
#include "agent/sandbox/sandbox.h"
#include "agent/verify/overruling_programs.h"
#include "agent/verify/probe.h"

namespace sbpf::agent {

// Unblocks all signals and gives SIGPIPE its default, in the child before exec.
void restore_signals();

// The exit code of a program that ended so, as a shell has it: 128+n for signal n.
int exit_code_of(int wait_status);

// Has a child of ours stopped since this was asked last, and not gone on?
bool has_stopped(pid_t pid);

// Blocks the signals that are meant for the program, from construction to destruction, so that none is lost between
// spawn and wait; and SIGCHLD, which says that it stopped.
class ForwardedSignals {
 public:
  ForwardedSignals();
  ~ForwardedSignals();
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  int fd() const { return fd_.get(); }  // readable when there are some
  void forward(pid_t pid) const;

 private:
  Fd fd_;
  sigset_t old_mask_{};
};

class Supervisor {
 public:
  // `verified`: how the sandbox stands before the program starts.
  Supervisor(Kernel& kernel, const Cgroup& cgroup, const sbpf_sandbox& record, const Status& verified,
             const RunOptions& options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Whenever the mounts change, looks up the paths anew of the policy in force: this one, or another that came by a
  // swap. What is mounted is denied until then. `mountinfo` is an open /proc/…/mountinfo, and what changed since it was
  // opened counts.
  void follow_mounts(Fd mountinfo, KeptPolicy began_with);

  // Puts the resolver's messages into the ring, as they come, and reports its end once. The resolver outlives wait().
  void serve_resolver(const ResolverProcess& resolver) { resolver_ = &resolver; }

  // Reports the relay's end once. The relay outlives wait().
  void watch_relay(const RelayProcess& relay) { relay_ = &relay; }

  // Answers what a seccomp filter of the program's asks, and puts it into the ring. They outlive wait().
  void tell_calls(RefusedCalls& calls) { calls_ = &calls; }

  // Waits for the program; on its end or on a timeout the whole cgroup is killed.
  RunResult wait(const Spawned& program);

 private:
  // The work after a wait or a pass, except the end.
  void serve(const Spawned& program, bool signals, bool pass);
  void end_of_helper(const char* what);
  void watch(const Fd& program);
  // The program ended, nothing else is in the cgroup, and another command takes the sandbox down, or has: that is no
  // loss.
  bool is_collected(const Fd& program) const;
  // Why it cannot be told how the sandbox stands; "": it can. Says so when it lasts.
  void note_unclear(const std::string& why);
  // Carries out on_loss, as the policy that was published last says, and tells. An audit policy only tells.
  void answer_loss(const HostProbe& host, const std::vector<Lost>& lost);
  // Keeps what a whole policy says of that: one that is missing, or was put in by others, says nothing.
  void learn(const Status& status, const std::vector<Lost>& lost);
  // The present losses, and the parts that cannot be told.
  std::vector<Lost> find_lost(const HostProbe& host);
  const std::vector<Mount>& its_own_mounts();
  // False: it is to be tried again. A failure, which is told, leaves the old generation, which denies what it does not
  // know.
  bool look_up_anew();
  Event explained(const sbpf_fs_event& raw);
  // Moves the kernel's events to the sandbox's log, and hands them on. False: another process is doing so.
  bool take_events();
  // The program has ended, or its time has: whatever else runs goes, and all is told in `result`.
  void finish(const Spawned& program, RunResult& result);
  // What nobody was handed, and what is left.
  void take_last_events(RunResult& result);

  Kernel& kernel_;  // opened anew after an upgrade
  const Cgroup& cgroup_;
  sbpf_sandbox record_;
  const RunOptions& options_;
  ForwardedSignals signals_;
  Sentinel sentinel_;
  Fd watch_timer_, deadline_;
  EventLog log_;
  EventAdvice advice_;
  bool log_complained_ = false;
  Fd mountinfo_;
  std::optional<std::vector<Mount>> its_own_mounts_;  // mounts_of_its_own()
  std::optional<KeptPolicy> began_with_;
  bool mounts_due_ = false;
  const ResolverProcess* resolver_ = nullptr;
  const RelayProcess* relay_ = nullptr;
  RefusedCalls* calls_ = nullptr;
  LaterSeen later_;
  Sound sound_;
  std::vector<Lost> lost_;  // that was answered
  bool killed_for_loss_ = false;
  int unclear_passes_ = 0;
  std::uint64_t moved_out_ = 0;
  std::uint32_t learned_from_ = 0;  // the number of the policy's map that said these
  policy::Mode mode_ = policy::Mode::enforce;
  policy::OnLoss on_loss_ = policy::OnLoss::freeze;
  std::vector<policy::ProgramTag> trusted_;
};

}  // namespace sbpf::agent
