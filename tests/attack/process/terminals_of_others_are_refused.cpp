// SPDX-License-Identifier: Apache-2.0
// The screens and keyboards of others: pseudo-terminals of sessions outside, and of another sandbox, of the same user
// id.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/attack/lib/process_attack.h"

using namespace attack;

namespace {

// Two attacks: on the terminal of a process outside of every sandbox, and of one in another.
#define BOTH_ATTACKS(name, who)                                                                                    \
  static void name##_body(Context& ctx);                                                                           \
  PROCESS_ATTACK(name##_of_outside_session_is_refused, {.at = "open", .expected = EPERM, .victim = Victim::who}) { \
    name##_body(ctx);                                                                                              \
  }                                                                                                                \
  PROCESS_ATTACK(name##_of_session_in_another_sandbox_is_refused,                                                  \
                 {.at = "open", .expected = EPERM, .victim = Victim::who, .boxed = true}) {                        \
    name##_body(ctx);                                                                                              \
  }                                                                                                                \
  static void name##_body(Context& ctx)

Fd open_terminal(const std::string& path, int flags) {
  return Fd(must(open(path.c_str(), flags | O_NOCTTY | O_CLOEXEC), "open"));
}

void read_keys(Context& ctx, const Fd& terminal) {
  char typed[256];
  ctx.loot({typed, static_cast<std::size_t>(must(read(terminal.get(), typed, sizeof typed), "read"))});
}

}  // namespace

BOTH_ATTACKS(screen, bystander_terminal) {
  const Fd terminal = open_terminal(ctx.text("terminal"), O_WRONLY);
  must(write(terminal.get(), ctx.token.data(), ctx.token.size()), "write");
}

BOTH_ATTACKS(keyboard, bystander_terminal) {
  read_keys(ctx, open_terminal(ctx.text("terminal"), O_RDONLY | O_NONBLOCK));
}

// Before there is a session: who was faster would read all that is typed later.
BOTH_ATTACKS(keyboard_of_new_terminal, bystander_new_terminal) {
  read_keys(ctx, open_terminal(ctx.text("terminal"), O_RDONLY | O_NONBLOCK));
}

// By a descriptor of the place alone, which is opened anew, also as the standard input.
BOTH_ATTACKS(keyboard_by_path_descriptor, bystander_terminal) {
  const Fd place(must(open(ctx.text("terminal").c_str(), O_PATH | O_CLOEXEC), "place"));
  must(dup2(place.get(), STDIN_FILENO), "place");
  read_keys(ctx, open_terminal("/proc/self/fd/0", O_RDONLY | O_NONBLOCK));
}

// By a child that has no terminal, and would take this one as its own.
BOTH_ATTACKS(keyboard_by_new_session, bystander_terminal) {
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    setsid();
    const int terminal = open(ctx.text("terminal").c_str(), O_RDWR | O_NONBLOCK);
    char typed[256];
    const ssize_t got = terminal < 0 ? -1 : read(terminal, typed, sizeof typed);
    if (got > 0) ctx.loot({typed, static_cast<std::size_t>(got)});
    _exit(terminal < 0 ? errno : 0);
  }
  int status = 0;
  must(waitpid(child, &status, 0), "waitpid");
  if (WEXITSTATUS(status) != 0) throw Failure{WEXITSTATUS(status), "open"};
}

// A program (expect, script, tmux, ssh) makes a terminal for a session of its own, and opens it by name. It is not in
// that session.
PROCESS_ATTACK(terminal_of_own_session_is_opened, {.victim = Victim::bystander_terminal, .harmless = true}) {
  const auto [controller, name] = new_terminal();
  const Fd early = open_terminal(name, O_RDWR);
  int ready[2];
  must(pipe(ready), "pipe");
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    setsid();
    if (open(name.c_str(), O_RDWR) < 0 || write(ready[1], "1", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  must(read(ready[0], &byte, 1), "read");
  const Fd late = open_terminal(name, O_RDWR);
  kill(child, SIGKILL);
  must(waitpid(child, nullptr, 0), "waitpid");
}
