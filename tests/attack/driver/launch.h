// SPDX-License-Identifier: Apache-2.0
// Processes that the driver starts, and what it hears from them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/attack/driver/victim.h"

namespace attack::driver {

struct Command {
  std::vector<std::string> argv;
  Stdin input = Stdin::pipe;
  Fd given_input;        // for Stdin::tcp4 and file
  int inheritance = -1;  // stays open across exec
  std::string cgroup;    // joined before exec; empty: where the driver is
};

// One attacker, or an sbpf with an attacker in it.
class Process {
 public:
  explicit Process(Command command);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // The next line of stdout that begins with one of `words`; none if stdout ends or the time is over.
  std::optional<std::string> line_with(const std::vector<std::string>& words, milliseconds limit);
  // One byte on stdin: go, or quit.
  void tell(char byte);
  // A descriptor over stdin (AF_UNIX).
  void hand_over(const Fd& fd);
  // Waits; kills when the time is over (then 137, and killed()). As a shell counts: 128 + signal.
  int finish(milliseconds limit);
  bool killed() const { return killed_; }
  std::string errors() const;  // the beginning of what it wrote to stderr

 private:
  void start(const Command& command, int input, int output);
  pid_t pid_ = -1;
  Fd input_, output_, errors_;
  std::string pending_;
  std::optional<int> exit_code_;
  bool killed_ = false;
};

// Runs a command to its end; its exit code. stderr goes to `errors`.
int run_command(const std::vector<std::string>& argv, std::string* errors = nullptr);

}  // namespace attack::driver
