// SPDX-License-Identifier: Apache-2.0
// Inside `sbpf watch`: a separate process does work that would take too long for a pass, and reports the result.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// One request at a time. The process starts with the first one and stays for the next: on a busy host a fork may wait
// for locks that processes of lower priority hold, and the watch would be late. It ends with the object.
class WatchChild {
 public:
  // Does the work of a request, and returns its result, which is not empty. It is called in the process, where of the
  // watch's descriptors only stdio is open.
  using Work = std::function<std::string(const std::string& request)>;
  explicit WatchChild(Work work) : work_(std::move(work)) {}
  ~WatchChild() { end(); }
  WatchChild(const WatchChild&) = delete;
  WatchChild& operator=(const WatchChild&) = delete;

  // Is there a request without an answer?
  bool running() const { return asked_; }
  // To poll for the answer; -1 if there is no request.
  int fd() const { return asked_ ? channel_.get() : -1; }
  // Errors: "spawn" with errno.
  Result<void> ask(const std::string& request);
  // The result of the request, once it is there; this does not wait. Empty inside if the process ended before.
  std::optional<std::optional<std::string>> answer();
  // Kills the process, if there is one.
  void end();

 private:
  Result<void> start();
  bool send(const std::string& request) const;

  Work work_;
  pid_t pid_ = -1;
  Fd channel_;
  bool asked_ = false;
};

}  // namespace sbpf::agent
