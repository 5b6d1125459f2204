// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/ending.h"

#include <fmt/core.h>
#include <csignal>
#include <cstring>
#include <optional>

#include "policy/policy.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kSecondUs = 1000000;

EndReason out_of_memory(const Usage& usage) {
  const std::string killed = fmt::format("the kernel killed {} of its processes", usage.oom_kills);
  if (usage.out_of_memory == 0 || !usage.memory_limit_bytes)
    return {"out_of_memory", fmt::format("out of memory: the host ran out, or a cgroup above the sandbox; {}", killed),
            "free memory on the host, or limit what sandboxes take: process.limits.memory"};
  return {"out_of_memory",
          fmt::format("out of memory: the sandbox reached its limit of {} (process.limits.memory); {}",
                      policy::memory_text(*usage.memory_limit_bytes), killed),
          "raise the limit, or run fewer of its processes at once"};
}

// What ended a program that did not end by itself; of several, the first that sbpf knows of.
std::optional<EndReason> what_ended(const RunResult& result) {
  if (result.timed_out) return EndReason{"timeout", "timed out: every process of the sandbox was killed", ""};
  if (result.killed_for_loss)
    return EndReason{"isolation_lost", "killed, as its isolation was lost and the policy says on_loss: kill",
                     "`sbpf events` and the host's log say what was lost"};
  if (result.usage.oom_kills > 0) return out_of_memory(result.usage);
  if (result.signal == SIGSYS)
    return EndReason{"seccomp", "ended by SIGSYS, as a seccomp filter sends it for a system call that it kills for",
                     "see process.seccomp in sbpf-policy(5)"};
  if (result.signal != SIGKILL) return std::nullopt;
  if (result.taken_down) return EndReason{"taken_down", "killed, as another command took the sandbox down", ""};
  return EndReason{"killed", "killed by SIGKILL: not by the policy's limits, but by somebody outside or by itself",
                   "the host's log may say who: `journalctl -k`, and the journal of sbpfd and of `sbpf watch`"};
}

EndReason process_limit(const Usage& usage) {
  const std::string times = usage.forks_refused == 1 ? "once" : fmt::format("{} times", usage.forks_refused);
  if (!usage.process_limit)
    return {"process_limit", fmt::format("a limit of processes above the sandbox refused it a new one {}", times), ""};
  return {"process_limit",
          fmt::format("the limit of {} processes and threads (process.limits.processes) refused it a new one {}",
                      *usage.process_limit, times),
          "raise the limit, or start fewer at once"};
}

}  // namespace

std::vector<EndReason> reasons_of(const RunResult& result) {
  std::vector<EndReason> reasons;
  if (auto ended = what_ended(result)) reasons.push_back(std::move(*ended));
  const Usage& usage = result.usage;
  if (usage.forks_refused > 0) reasons.push_back(process_limit(usage));
  if (usage.cpu_throttled_us >= kSecondUs && usage.cpu_periods > 0)
    reasons.push_back({"cpu_limit",
                       fmt::format("the limit of CPU (process.limits.cpu) held it back in {} % of the time that it ran",
                                   usage.cpu_throttled_periods * 100 / usage.cpu_periods),
                       "raise the limit if that is too slow"});
  return reasons;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace sbpf::agent
