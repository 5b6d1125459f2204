// SPDX-License-Identifier: Apache-2.0
// Requests to terminals that reach whoever sits there, or the kernel behind them. Most of them need a capability as well,
// whose refusal has the same errno: what sbpf says tells that the request itself was refused.
#include <fcntl.h>
#include <linux/tiocl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

// A terminal of the outside's, whose input somebody reads; its name is workspace/terminal.
Fd& terminal() {
  static Fd controller;
  return controller;
}

void open_terminal(const FileScene& s) {
  terminal() = Fd(must(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "admin openpt"));
  must(grantpt(terminal().get()), "admin grantpt");
  must(unlockpt(terminal().get()), "admin unlockpt");
  char name[64] = {};
  if (ptsname_r(terminal().get(), name, sizeof(name)) != 0) throw Failure{errno, "admin ptsname"};
  admin_symlink(name, s("workspace/terminal"));
}

bool typed_into(const FileScene& s) {
  const Fd reader(open(s("workspace/terminal").c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  int count = 0;
  return reader && ioctl(reader.get(), FIONREAD, &count) == 0 && count > 0;
}

constexpr int kNullDiscipline = 27;  // N_NULL: it swallows all

bool has_other_discipline(const FileScene& s) {
  const Fd fd(open(s("workspace/terminal").c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  int discipline = 0;
  return fd && ioctl(fd.get(), TIOCGETD, &discipline) == 0 && discipline != 0;
}

// What is written to the console comes out at the terminal. Puts it back.
bool console_is_redirected(const FileScene&) {
  const Fd console(open("/dev/console", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!console || write(console.get(), "sbpf attack\r\n", 13) < 0) throw Failure{errno, "console"};
  pollfd arrived{terminal().get(), POLLIN, 0};
  const bool redirected = poll(&arrived, 1, 100) == 1 && (arrived.revents & POLLIN) != 0;
  if (redirected) ioctl(console.get(), TIOCCONS);
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
                                                       .prepare = open_terminal,
                                                       .harmed = typed_into,
                                                       .root = true}) {
  const Fd fd = open_file(workspace(ctx, "terminal"), O_RDONLY | O_NOCTTY);
  for (const char c : {'l', 's', '\n'}) must(ioctl(fd.get(), TIOCSTI, &c), "ioctl");
}

FILE_ATTACK(line_discipline_of_readable_terminal_is_refused, {.at = "ioctl",
                                                              .expected = EPERM,
                                                              .told = "denied ioctl that drives a device",
                                                              .grant = Grant::none,
                                                              .prepare = open_terminal,
                                                              .harmed = has_other_discipline,
                                                              .root = true}) {
  const Fd fd = open_file(workspace(ctx, "terminal"), O_RDONLY | O_NOCTTY);
  must(ioctl(fd.get(), TIOCSETD, &kNullDiscipline), "ioctl");
}

FILE_ATTACK(console_output_to_writable_terminal_is_refused, {.at = "ioctl",
                                                             .expected = EPERM,
                                                             .told = "denied ioctl that drives a device",
                                                             .grant = Grant::none,
                                                             .write = "/dev/pts ",
                                                             .prepare = open_terminal,
                                                             .harmed = console_is_redirected,
                                                             .root = true,
                                                             .machine_wide = true}) {
  const Fd fd = open_file(workspace(ctx, "terminal"), O_RDWR | O_NOCTTY);
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
