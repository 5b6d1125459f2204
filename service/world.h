// SPDX-License-Identifier: Apache-2.0
// What `sbpf watch` tells, as the service knows it. Pure: no process, no clock of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/json.h"

namespace sbpf::service {

using Clock = std::chrono::steady_clock;

// Whoever counts and logs; called while a line is taken.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void pass(const Json& pass) = 0;
  // `before` is null on first sight.
  virtual void sandbox(const Json& now, const Json& before) = 0;
  // `last`: as it was last told of.
  virtual void gone(const std::string& name, const Json& last) = 0;
  virtual void loss(const Json& loss) = 0;
  virtual void restored(const Json& restored) = 0;
  virtual void trouble(const Json& error) = 0;
};

class World {
 public:
  explicit World(Observer& observer) : observer_(observer) {}

  // A watch was started: what it does not name until its first pass is gone.
  void restarted();
  // One line of the watch. Errors: "bad_line" (not of the form that is agreed upon), "untold" (lines before it are
  // missing); then nothing changed.
  Result<void> take(std::string_view line, Clock::time_point now);

  // Since the last pass; nothing before the first one of the first watch.
  std::optional<Clock::duration> age(Clock::time_point now) const;
  // Has this watch, not one before it, made a pass?
  bool current() const { return current_; }
  const Json& last_pass() const { return pass_; }
  // By name, what the watch said of it.
  const std::map<std::string, Json>& sandboxes() const { return sandboxes_; }

 private:
  Observer& observer_;
  std::map<std::string, Json> sandboxes_;
  std::map<std::string, bool> seen_;  // by the watch that runs
  Json pass_;
  std::optional<Clock::time_point> passed_;
  bool current_ = false;
};

}  // namespace sbpf::service
