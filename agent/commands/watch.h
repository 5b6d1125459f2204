// SPDX-License-Identifier: Apache-2.0
// `sbpf watch`: one process that looks at every sandbox of the host twice a second, answers losses, and repairs them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/sandbox/status.h"

namespace sbpf::agent {

inline constexpr std::string_view kWatchLockFile = "/run/sbpf-watch.lock";

// Times are ns since 1970 (CLOCK_REALTIME).
struct WatchPass {
  std::int64_t at = 0;
  std::size_t sandboxes = 0, active = 0, degraded = 0, inactive = 0;
  // The age for the sandbox that waits longest: since its last canary, or since it was first seen.
  std::uint64_t canary_age_s = 0;
  std::uint64_t duration_us = 0;
  std::uint64_t late_us = 0;  // it began so long after it was due
};

struct WatchLoss {
  std::string sandbox;
  std::vector<std::string> hooks;    // what is missing: hooks by name, "gate", "storage", "policy", "record", "lsm",
                                     // "liveness", "overruled", "later", "canary", "pin …"
  std::vector<std::string> reasons;  // in the same order
  policy::OnLoss on_loss = policy::OnLoss::freeze;
  std::string answered = "alerted";  // "frozen", "killed", "alerted"
  std::int64_t at = 0;
};

struct WatchRestored {
  std::string sandbox;
  std::vector<std::string> hooks;
  std::int64_t lost_at = 0;  // when all was last seen in its place, before the loss
  std::int64_t restored_at = 0;
};

// Called from watch() in the order of events.
struct WatchSink {
  std::function<void(const WatchPass&)> pass;
  // When first seen, when anything but a counter changed, and each 5 s if a counter did. `canary_at`: of the last that
  // every hook denied; 0: none yet.
  std::function<void(const Status&, std::int64_t canary_at)> sandbox;
  std::function<void(const std::string& name)> gone;  // there is none of that name any more
  std::function<void(const WatchLoss&)> loss;
  std::function<void(const WatchRestored&)> restored;
  std::function<void(const Error&)> error;  // the watch goes on
};

// Watches until SIGTERM or SIGINT, or the end of stdin where that is a pipe or socket. Waits for programs to be loaded.
// Errors: "watch_exists" (another one runs), "not_permitted", "stale_programs", "not_the_agent".
Result<void> watch(const WatchSink& sink);

}  // namespace sbpf::agent
