// SPDX-License-Identifier: Apache-2.0
// The terminal and the process group of the caller's job, which `sbpf run` partly shares with its program.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// Puts a terminal back as it was: its modes, its output going on, and its foreground process group, where that is
// nobody's any more. Does nothing if the job did not have the terminal, or if a living group has it by now: the
// caller's shell.
class TerminalGuard {
 public:
  // `terminal`: a descriptor that outlives this.
  explicit TerminalGuard(int terminal);
  ~TerminalGuard();
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;
  // Another process does it.
  void forget() { is_terminal_ = false; }

 private:
  bool may_restore() const;

  int terminal_;
  bool is_terminal_ = false;
  termios modes_{};
  pid_t foreground_ = -1;  // -1: the terminal of no session, or of another one
};

// If the session has a terminal, every process of a process group that uses this terminal can stop the whole group
// (SIGTTIN, SIGTTOU, SIGTSTP). So there are two processes. The front is the process that the caller knows. It stays in
// the program's group, and stops and continues with it, as a shell expects of a job. It watches nothing, and only
// forwards signals. The other process does everything else, and leaves the session when the program runs.
class Front {
 public:
  Front() = default;
  // The front, if it was stopped, goes on to its end.
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // Makes them two. The front returns from here with the exit code, when the other one has ended; that one returns at
  // once, with nothing. Without a terminal of the session there is no front. Errors: "spawn".
  Result<std::optional<int>> split();
  // The program runs: from here on no signal of a terminal, or to the group, reaches this process.
  void leave() const;
  // The program has stopped: so does the front, if it is of its group, and so the caller's shell knows.
  void stop_with(pid_t program) const;

 private:
  std::optional<TerminalGuard> guard_;  // without a front
  Fd front_;                            // its pidfd; -1: there is none
  pid_t group_ = -1;
};

// Has `rest` watch over a program in another process than the front, which is told when the program runs and stops: by
// on_started and on_stopped of these options. Gives the exit code, in each of the two. Errors: those of split() and of
// `rest`.
template <typename Options, typename Rest>
Result<int> behind_front(Options& options, const Rest& rest) {
  Front front;
  const auto ended = front.split();
  if (!ended) return tl::unexpected<Error>(ended.error());
  if (*ended) return **ended;
  options.on_started = [&front] { front.leave(); };
  options.on_stopped = [&front](pid_t program) { front.stop_with(program); };
  return rest();
}

}  // namespace sbpf::agent
