// SPDX-License-Identifier: Apache-2.0
// Requests to terminals that reach whoever sits there, or the kernel behind them. Most of them need a capability as
// well, whose refusal has the same errno: what sbpf says tells that the request itself was refused.
#include <fcntl.h>
#include <linux/tiocl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

// One of the attacker's own, as those of others cannot even be opened (process/terminals_of_others_are_refused). It
// lasts until the driver has looked.
Fd own_terminal(Context& ctx, int flags) {
  auto [controller, name] = new_terminal();
  ctx.keep(std::move(controller));
  return open_file(name, flags | O_NOCTTY);
}

bool is_any_terminal(const std::function<bool(int)>& so) {
  for (const auto& entry : std::filesystem::directory_iterator("/dev/pts")) {
    if (entry.path().filename() == "ptmx") continue;
    const Fd fd(open(entry.path().c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (fd && so(fd.get())) return true;
  }
  return false;
}

bool typed_into(const FileScene&) {
  return is_any_terminal([](int fd) {
    int count = 0;
    return ioctl(fd, FIONREAD, &count) == 0 && count > 0;
  });
}

constexpr int kNullDiscipline = 27;  // N_NULL: it swallows all

bool has_other_discipline(const FileScene&) {
  return is_any_terminal([](int fd) {
    int discipline = 0;
    return ioctl(fd, TIOCGETD, &discipline) == 0 && discipline != 0;
  });
}

// What is written to the console comes out at a terminal: another one cannot have it. Puts it back.
bool console_is_redirected(const FileScene&) {
  const auto [controller, name] = new_terminal();
  const Fd mine(open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC)),
      console(open("/dev/console", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!mine || !console) throw Failure{errno, "console"};
  const bool redirected = ioctl(mine.get(), TIOCCONS) != 0 && errno == EBUSY;
  ioctl(console.get(), TIOCCONS);
  return redirected;
}

// The machine's own screen is dark. Puts it back.
bool screen_is_blank(const FileScene&) {
  const Fd console(open("/dev/tty1", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  char request = TIOCL_BLANKEDSCREEN;
  if (!console || ioctl(console.get(), TIOCLINUX, &request) <= 0) return false;
  request = TIOCL_UNBLANKSCREEN;
  ioctl(console.get(), TIOCLINUX, &request);
  return true;
}

}  // namespace

// As if the one who sits there had typed it. Reading the terminal is enough to be able to.
FILE_ATTACK(typing_into_readable_terminal_is_refused, {.at = "ioctl",
                                                       .expected = EPERM,
                                                       .told = "denied ioctl that drives a device",
                                                       .grant = Grant::none,
                                                       .write = "/dev/ptmx ",
                                                       .harmed = typed_into,
                                                       .root = true}) {
  const Fd fd = own_terminal(ctx, O_RDONLY);
  for (const char c : {'l', 's', '\n'}) must(ioctl(fd.get(), TIOCSTI, &c), "ioctl");
}

FILE_ATTACK(line_discipline_of_readable_terminal_is_refused, {.at = "ioctl",
                                                              .expected = EPERM,
                                                              .told = "denied ioctl that drives a device",
                                                              .grant = Grant::none,
                                                              .write = "/dev/ptmx ",
                                                              .harmed = has_other_discipline,
                                                              .root = true}) {
  const Fd fd = own_terminal(ctx, O_RDONLY);
  must(ioctl(fd.get(), TIOCSETD, &kNullDiscipline), "ioctl");
}

FILE_ATTACK(console_output_to_writable_terminal_is_refused, {.at = "ioctl",
                                                             .expected = EPERM,
                                                             .told = "denied ioctl that drives a device",
                                                             .grant = Grant::none,
                                                             .write = "/dev/ptmx /dev/pts ",
                                                             .harmed = console_is_redirected,
                                                             .root = true,
                                                             .machine_wide = true}) {
  const Fd fd = own_terminal(ctx, O_RDWR);
  must(ioctl(fd.get(), TIOCCONS), "ioctl");
}

FILE_ATTACK(blanking_of_the_screen_is_refused, {.at = "ioctl",
                                                .expected = EPERM,
                                                .told = "denied ioctl that drives a device",
                                                .grant = Grant::none,
                                                .harmed = screen_is_blank,
                                                .root = true,
                                                .machine_wide = true,
                                                .lacking = {{ENOENT, ENXIO, ENODEV}}}) {
  const Fd fd = open_file("/dev/tty1", O_RDONLY | O_NOCTTY);
  char request = TIOCL_BLANKSCREEN;
  must(ioctl(fd.get(), TIOCLINUX, &request), "ioctl");
}
