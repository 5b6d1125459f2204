// SPDX-License-Identifier: Apache-2.0
// Inside `sbpf watch`: what takes longer than a pass may is done by a process of its own, which tells what came of it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// One process at a time; it ends with the object.
class WatchChild {
 public:
  WatchChild() = default;
  ~WatchChild() { end(); }
  WatchChild(const WatchChild&) = delete;
  WatchChild& operator=(const WatchChild&) = delete;

  bool running() const { return pid_ > 0; }
  // To poll for reading; -1 if none runs.
  int fd() const { return pipe_.get(); }
  // Calls `work` in a child, whose answer is what that returns. Errors: "spawn" with errno.
  Result<void> start(const std::function<std::string()>& work);
  // What it told, once it has ended: nothing is waited for. Empty inside if it ended before it had told all.
  std::optional<std::optional<std::string>> answer();
  // Kills it, if one runs.
  void end();

 private:
  pid_t pid_ = -1;
  Fd pipe_;
  std::string text_;
};

}  // namespace sbpf::agent
