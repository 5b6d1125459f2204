// SPDX-License-Identifier: Apache-2.0
// For what may never be answered: a path may lie on a file system whose server is gone.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sbpf::agent {

// What a process is at, for who has to give it up. Cut where it is longer than there is room.
class Doing {
 public:
  explicit Doing(char* room) : room_(room) {}
  void note(const std::string& what);

 private:
  char* room_;
};

// Has a process of its own do `work`, and gives what it returns. It has the descriptors `keep` and stdio, and none of the rest: no lock.
// Errors: "no_answer" after `patience`, with what it noted last, and it is killed; "spawn" where there is no such process, or it
// ended without an answer.
Result<std::string> in_child(std::chrono::milliseconds patience, const std::vector<int>& keep, const std::function<std::string(Doing)>& work);

}  // namespace sbpf::agent
