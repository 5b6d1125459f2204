// SPDX-License-Identifier: Apache-2.0
// Files of a filesystem that is mounted nowhere: no rule can name them, and so they are refused whatever the rules are.
// Someone outside hands over a bare path, which is no right by itself.
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/programs.h"

using namespace attack;

namespace {

Fd detached_filesystem() {
  const Fd context(static_cast<int>(must(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), "admin fsopen")));
  must(syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "admin fsconfig");
  return Fd(static_cast<int>(must(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0), "admin fsmount")));
}

Fd detached_file(const FileScene& s) {
  const Fd tree = detached_filesystem();
  admin_write(fd_link(tree) + "/token", s.secret);
  return admin_open(fd_link(tree) + "/token", O_PATH);
}

Fd detached_program(const FileScene& s) {
  const Fd tree = detached_filesystem();
  admin_program(s, fd_link(tree) + "/program");
  return admin_open(fd_link(tree) + "/program", O_PATH);
}

Fd ask_for_path() {
  must(send(STDIN_FILENO, "send me a path", 14, 0), "send on stdin");
  return receive_fd(STDIN_FILENO);
}

}  // namespace

FILE_ATTACK(file_of_detached_filesystem_is_refused, {.at = "open", .grant = Grant::none, .handed = detached_file}) {
  steal(ctx, fd_link(ask_for_path()));
}

FILE_ATTACK(file_of_detached_filesystem_by_default_write_is_refused,
            {.at = "open", .form = Form::open, .grant = Grant::none, .handed = detached_file}) {
  steal(ctx, fd_link(ask_for_path()));
}

PROGRAM_ATTACK(program_of_detached_filesystem_is_refused,
               {.at = "exec", .programs = Programs::named, .grant = Grant::none, .handed = detached_program}) {
  run_fd_and_take(ctx, ask_for_path(), "");
}
