// SPDX-License-Identifier: Apache-2.0
// A sandbox on a fake host, and the watch that looks at it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agent/commands/watch_state.h"
#include "tests/unit/fake_sandbox.h"

namespace sbpf::agent {

using Texts = std::vector<std::string>;

// With what the watch told in the last pass.
struct Watched : FakeSandbox {
  using FakeSandbox::FakeSandbox;

  // One pass; what it told is in `losses` and so on.
  WatchPass pass(std::int64_t late = 0) {
    statuses.clear();
    losses.clear();
    back.clear();
    gone.clear();
    errors.clear();
    EXPECT_TRUE(watch.pass(late));
    return last;
  }
  Texts lost() const {
    Texts all;
    for (const WatchLoss& loss : losses) all.insert(all.end(), loss.hooks.begin(), loss.hooks.end());
    return all;
  }
  std::optional<Isolation> told() const {
    return statuses.empty() ? std::nullopt : std::optional(statuses.back().isolation);
  }
  bool is_degraded_by(const std::string& what) const {
    return !statuses.empty() &&
           std::ranges::any_of(statuses.back().degraded, [&](const Degradation& one) { return one.what == what; });
  }

  std::vector<Status> statuses;
  std::vector<WatchLoss> losses;
  std::vector<WatchRestored> back;
  Texts gone, errors;
  WatchPass last;
  Liveness alive{Proof::runs, "", {}, {}};
  WatchSink sink{[this](const WatchPass& one) { last = one; },
                 [this](const Status& status, std::int64_t) { statuses.push_back(status); },
                 [this](const std::string& name) { gone.push_back(name); },
                 [this](const WatchLoss& loss) { losses.push_back(loss); },
                 [this](const WatchRestored& restored) { back.push_back(restored); },
                 [this](const Error& error) { errors.emplace_back(error.code.text()); }};
  Watch watch{sink, [this](const Kernel&) { return alive; }};
};

}  // namespace sbpf::agent
