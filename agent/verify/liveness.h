// SPDX-License-Identifier: Apache-2.0
// Do the LSM programs run? That they are attached does not say so: kernel.ftrace_enabled=0 switches off every one of
// them, and links, programs and maps read back as before. A sentinel proves it: a process of ours in a cgroup of its
// own, which is no sandbox, calls the hooks, and the programs count it there (bpf/abi.h, struct sbpf_alive).
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/kernel/kernel.h"

namespace sbpf::agent {

// Three answers: unknown is neither a proof nor a loss.
enum class Proof : unsigned char { runs, stopped, unknown };

struct Liveness {
  Proof proof = Proof::unknown;
  std::string reason;              // one clause for a person; empty if it runs
  std::vector<sbpf_hook> stopped;  // called, let pass by the kernel, and not counted
  std::vector<sbpf_hook> untold;   // could not be called: the kernel refused or failed the operation before the hook
  bool disturbed = false;          // unknown, as somebody stopped, moved or ended the sentinel
};

namespace sentinel {

using Counts = std::array<std::uint32_t, SBPF_HOOK_COUNT>;

constexpr int kNotTried = -1;

// What the sentinel reports over its pipe: for each hook the errno of its operation, 0, or kNotTried.
struct Report {
  std::array<std::int32_t, SBPF_HOOK_COUNT> error;
  std::int32_t not_started;  // errno; 0: it was
  std::int32_t moved;        // out of the cgroup of sentinels: what it called was counted by nobody
};

// The hooks that a sentinel calls: those that it can call cheaply and without a trace.
bool calls(sbpf_hook hook);
// Does this errno show that the kernel got past the hook?
bool passed(sbpf_hook hook, int error);
// Calls all of them, and notes what each said. It runs in the sentinel, and allocates nothing. `caller`: of the
// agent's, with memory of its own; `prog_id`: of a program of ours.
void call_all(Report& report, pid_t caller, std::uint32_t prog_id);
// The result of report and counts for the hooks of this kernel.
Liveness judge(const Report& report, const Counts& before, const Counts& after);
// Was each hook that a sentinel can call counted since `before`? `but`: those that could not be called the last time.
bool all_counted(const Counts& before, const Counts& now, const std::vector<sbpf_hook>& but);

}  // namespace sentinel

// One sentinel at a time: for a status, or for the passes of a supervisor or watch, one after another.
class Sentinel {
 public:
  // `stays`: for the watch. What it forks starts a sentinel for each look, without a copy of its memory, and ends when
  // a look did not find that the programs run: on a busy host fork may wait for locks that processes of lower priority
  // hold, and who waits is late.
  explicit Sentinel(bool stays = false);
  ~Sentinel() { end(); }
  Sentinel(const Sentinel&) = delete;
  Sentinel& operator=(const Sentinel&) = delete;

  // Asks one, and waits for its answer for so long. One that did not answer by then is waited for again at the next
  // call; it is ended after 10 s. None is started if that of another supervisor or of the watch has called the hooks
  // since the last look: on a host with many sandboxes one sentinel serves them all. Where it cannot be told, the
  // answer of the last 5 s stands; without one it is `unknown` with the reason.
  Liveness prove(const Kernel& kernel, std::chrono::milliseconds patience);
  // The same by a separate sentinel that is asked now; no earlier answer stays valid.
  Liveness prove_anew(const Kernel& kernel, std::chrono::milliseconds patience);
  // Ends the one that stays, or that has not answered yet, and forgets what was proven: for other programs, or none.
  void reset();

 private:
  void end();
  Liveness ask(const Kernel& kernel, std::chrono::milliseconds patience);
  Liveness prove_once(const Kernel& kernel, std::chrono::milliseconds patience);
  Result<void> start(const Kernel& kernel);

  const bool stays_;
  pid_t pid_ = -1;
  Fd pidfd_, requests_, answers_;
  Fd switch_;  // kernel.ftrace_enabled: opened once, as to open it waits
  bool asked_ = false;
  std::uint64_t asked_ns_ = 0;
  sentinel::Counts before_{}, seen_{};  // of when it was asked, and of the last look
  Liveness last_;
  std::uint64_t proven_ns_ = 0;  // CLOCK_BOOTTIME
};

}  // namespace sbpf::agent
