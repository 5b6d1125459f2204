// SPDX-License-Identifier: Apache-2.0
// For operations that may never return: a path may lie on a file system whose server is gone.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sbpf::agent {

// The present work of a process, for the caller that gives it up. Cut if it is too long.
class Doing {
 public:
  explicit Doing(char* room) : room_(room) {}
  void note(const std::string& what);

 private:
  char* room_;
};

// Does `work` in a separate process, and returns its result. The process has the descriptors `keep` and stdio, and no
// others: no lock. Errors: "no_answer" after `patience`, with its last note, and the process is killed; "spawn" if the
// process could not be started, or ended without an answer.
Result<std::string> in_child(std::chrono::milliseconds patience, const std::vector<int>& keep,
                             const std::function<std::string(Doing)>& work);

}  // namespace sbpf::agent
