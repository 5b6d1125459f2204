// SPDX-License-Identifier: Apache-2.0
// `sbpf top`: all sandboxes on one screen, until q or Ctrl-C.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>

#include "agent/agent.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

struct TopArgs {
  double interval = 1;
  bool once = false;
};

std::atomic<bool> ended{false};

// The terminal's other screen, keys as they are pressed; put back at the end, by signals too.
class Screen {
 public:
  Screen() {
    if (!is_terminal()) return;
    termios keys = saved_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    struct sigaction action {};
    action.sa_handler = [](int) { ended = true; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
    on_ = true;
    (void)print("\x1b[?1049h\x1b[?25l");
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    if (!on_) return;
    (void)print("\x1b[?25h\x1b[?1049l");
    ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_);
  }

  bool on() const { return on_; }
  winsize size() const {
    winsize size{};
    if (!on_ || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = 200, size.ws_row = 0;
    return size;
  }
  // Waits; false once q was pressed or a signal came.
  bool stays(double seconds) const {
    pollfd key{on_ ? STDIN_FILENO : -1, POLLIN, 0};
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!ended) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return true;
      char pressed = 0;
      if (::poll(&key, 1, static_cast<int>(left.count())) <= 0) continue;
      if (::read(STDIN_FILENO, &pressed, 1) != 1) key.fd = -1;
      if (pressed == 'q') return false;
    }
    return false;
  }

 private:
  bool is_terminal() { return ::isatty(STDOUT_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &saved_) == 0; }
  termios saved_{};
  bool on_ = false;
};

Result<int> top(const TopArgs& args) {
  auto before = agent::statuses();
  if (!before) return tl::unexpected<Error>(before.error());
  std::uint64_t then = boottime_ns();
  const Screen screen;
  while (screen.stays(args.interval)) {
    auto now = agent::statuses();
    if (!now) return tl::unexpected<Error>(now.error());
    const std::uint64_t at = boottime_ns();
    const winsize size = screen.size();
    const std::string time = format_time(boot_epoch_ns() + static_cast<std::int64_t>(at)).substr(11, 8);
    const std::string text =
        top_text(*now, *before, static_cast<double>(at - then) / 1e9, time, size.ws_row, size.ws_col);
    if (auto printed = print(screen.on() ? "\x1b[H\x1b[2J" + text.substr(0, text.size() - 1) : text); !printed)
      return printed.error().sys_errno == EPIPE ? Result<int>(kExitOk) : tl::unexpected<Error>(printed.error());
    if (args.once) break;
    before = std::move(now);
    then = at;
  }
  return kExitOk;
}

}  // namespace

void add_top(CLI::App& app, Session& session) {
  auto args = std::make_shared<TopArgs>();
  CLI::App* sub = app.add_subcommand("top", "Watch all sandboxes: isolation, denials a second, events lost");
  sub->add_option("--interval", args->interval, "Seconds between updates (default: 1)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0));
  sub->add_flag("--once", args->once, "Print one update, after one interval");
  sub->footer(
      "Example:\n  sbpf top --interval 5\n\nSandboxes that are not active come first. AT is the hook that denied most. "
      "Press q to end it.");
  sub->callback([args, &session] { session.action = [args] { return top(*args); }; });
}

}  // namespace sbpf::cli
