// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <algorithm>
#include <chrono>
#include <cstring>

#include "agent/agent.h"
#include "agent/host/audit.h"
#include "agent/kernel/guard.h"
#include "agent/kernel/kernel.h"
#include "agent/sandbox/sandbox.h"
#include "base/clock.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kNsPerSecond = 1000000000;

// To every sandbox.
void announce(const Kernel& kernel, sbpf_reason reason, std::uint32_t detail) {
  for (const sbpf_sandbox& record : read_registry(kernel)) announce_to(kernel, record.cgroup_id, reason, detail);
}

}  // namespace

Result<void> break_glass(const std::string& reason, std::chrono::seconds window) {
  auto lock = lock_host();
  if (!lock) return tl::unexpected<Error>(lock.error());
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  sbpf_guard& guard = kernel->globals().guard;
  if (window.count() == 0) {
    audit("break-glass window closed");
    __atomic_store_n(&guard.open_until, std::uint64_t{0}, __ATOMIC_SEQ_CST);
    return {};
  }
  // Told before it opens: afterwards who tells could be gone.
  audit(fmt::format("break-glass for {} s: {}", window.count(), reason));
  announce(*kernel, SBPF_REASON_BREAK_GLASS, static_cast<std::uint32_t>(window.count()));
  std::memset(guard.reason, 0, sizeof guard.reason);
  std::memcpy(guard.reason, reason.data(), std::min(reason.size(), sizeof guard.reason - 1));
  const std::uint64_t until = boottime_ns() + static_cast<std::uint64_t>(window.count()) * kNsPerSecond;
  __atomic_store_n(&guard.open_until, until, __ATOMIC_SEQ_CST);
  return {};
}

}  // namespace sbpf::agent
