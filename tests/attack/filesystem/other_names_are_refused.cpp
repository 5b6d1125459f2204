// SPDX-License-Identifier: Apache-2.0
// A file by another of its names: the verdict is that of the place where it lies.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

FILE_ATTACK(read_through_bind_mount_is_refused, {.at = "open", .prepare = [](const FileScene& s) {
                                                   admin_bind(s("workspace/secret"), s("workspace/mnt"));
                                                 }}) {
  steal(ctx, workspace(ctx, "mnt/token"));
}

FILE_ATTACK(read_through_bind_mount_by_default_write_is_refused,
            {.at = "open", .form = Form::open, .prepare = [](const FileScene& s) {
               admin_bind(s("outside"), s("workspace/dir/mnt"));
             }}) {
  steal(ctx, workspace(ctx, "dir/mnt/token"));
}

// Only a directory of the denied tree, without a rule of its own.
FILE_ATTACK(read_through_bind_mount_of_subdirectory_is_refused,
            {.at = "open",
             .prepare = [](const FileScene& s) { admin_bind(s("workspace/secret/dir"), s("workspace/mnt")); }}) {
  steal(ctx, workspace(ctx, "mnt/token"));
}

FILE_ATTACK(read_through_bind_mount_of_file_is_refused,
            {.at = "open", .form = Form::carved, .prepare = [](const FileScene& s) {
               admin_bind(s("workspace/secret/token"), s("workspace/mnt"));
             }}) {
  steal(ctx, workspace(ctx, "mnt"));
}

FILE_ATTACK(read_through_bind_mount_of_unlisted_directory_is_refused,
            {.at = "open", .prepare = [](const FileScene& s) { admin_bind(s("elsewhere"), s("workspace/mnt")); }}) {
  steal(ctx, workspace(ctx, "mnt/token"));
}

FILE_ATTACK(write_through_bind_mount_is_refused,
            {.at = "open", .prepare = [](const FileScene& s) { admin_bind(s("workspace/ro"), s("workspace/mnt")); }}) {
  overwrite(workspace(ctx, "mnt/dir/file"));
}

FILE_ATTACK(creation_through_bind_mount_is_refused,
            {.at = "create", .form = Form::carved, .prepare = [](const FileScene& s) {
               admin_bind(s("workspace/tests"), s("workspace/mnt"));
             }}) {
  create(workspace(ctx, "mnt/new"));
}

FILE_ATTACK(creation_of_protected_name_through_bind_mount_is_refused,
            {.at = "create",
             .prepare = [](const FileScene& s) { admin_bind(s("workspace/empty"), s("workspace/mnt")); }}) {
  create(workspace(ctx, "mnt/later"));
}

FILE_ATTACK(read_through_bind_mount_on_tmpfs_is_refused,
            {.at = "open", .ground = Ground::memory, .prepare = [](const FileScene& s) {
               admin_bind(s("workspace/secret"), s("workspace/mnt"));
             }}) {
  steal(ctx, workspace(ctx, "mnt/token"));
}

FILE_ATTACK(read_through_proc_root_is_refused, {.at = "open"}) {
  steal(ctx, "/proc/self/root" + workspace(ctx, "secret/token"));
}

FILE_ATTACK(read_through_proc_cwd_is_refused, {.at = "open"}) {
  must(chdir(workspace(ctx, "secret").c_str()), "chdir");
  steal(ctx, "/proc/self/cwd/token");
}

FILE_ATTACK(write_through_proc_thread_root_is_refused, {.at = "open", .form = Form::open}) {
  overwrite("/proc/thread-self/root" + workspace(ctx, "ro/file"));
}

// The root of a child of one's own, that made the denied directory its root.
FILE_ATTACK(read_through_root_of_child_is_refused, {.at = "open", .root = true}) {
  int ready[2];
  must(pipe2(ready, O_CLOEXEC), "pipe");
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    char ok = chroot(workspace(ctx, "secret").c_str()) == 0 ? 'y' : 'n';
    if (write(ready[1], &ok, 1) == 1) pause();
    _exit(0);
  }
  char ok = 0;
  const bool chrooted = read(ready[0], &ok, 1) == 1 && ok == 'y';
  Failure outcome{chrooted ? 0 : EPERM, "chroot"};
  try {
    if (chrooted) steal(ctx, "/proc/" + std::to_string(child) + "/root/token");
  } catch (const Failure& failure) {
    outcome = failure;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (outcome.error != 0) throw Failure(outcome);
}

// An outside process's root: no policy opens the way through other processes, only audit mode does.
// Attached, as `sbpf run` shows no processes but the sandbox's own.
FILE_ATTACK(read_through_root_of_outside_process_is_refused,
            {.at = "open", .grant = Grant::audit, .launch = Launch::attach, .root = true}) {
  ctx.join();
  steal(ctx, "/proc/" + ctx.text("driver") + "/root" + workspace(ctx, "secret/token"));
}

FILE_ATTACK(reopening_for_writing_is_refused, {.at = "open"}) {
  const Fd fd = open_file(workspace(ctx, "ro/file"), O_RDONLY);
  overwrite(fd_link(fd));
}

FILE_ATTACK(reopening_of_protected_file_is_refused, {.at = "open", .form = Form::carved}) {
  const Fd fd = open_file(workspace(ctx, "instruction.md"), O_RDONLY);
  overwrite(fd_link(fd), O_TRUNC);
}

FILE_ATTACK(reopening_through_dev_fd_is_refused, {.at = "open"}) {
  const Fd fd = open_file(workspace(ctx, "ro/file"), O_RDONLY);
  overwrite("/dev/fd/" + std::to_string(fd.get()));
}

FILE_ATTACK(reopening_of_path_descriptor_is_refused, {.at = "open"}) {
  const Fd fd = open_path(workspace(ctx, "secret/token"));
  steal(ctx, fd_link(fd));
}

FILE_ATTACK(reopening_of_path_descriptor_on_tmpfs_is_refused, {.at = "open", .ground = Ground::memory}) {
  const Fd fd = open_path(workspace(ctx, "ro/file"));
  overwrite(fd_link(fd));
}

FILE_ATTACK(reopening_of_child_descriptor_is_refused, {.at = "open"}) {
  const Fd fd = open_path(workspace(ctx, "secret/token"));
  const std::string link = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd.get());
  in_child([&] { steal(ctx, link); });
}

FILE_ATTACK(premade_path_descriptor_is_refused, {.at = "openat", .launch = Launch::attach}) {
  const Fd directory = open_path(workspace(ctx, "secret"));
  ctx.join();
  take(ctx, open_at(directory.get(), "token", O_RDONLY));
}

FILE_ATTACK(premade_working_directory_is_refused, {.at = "open", .launch = Launch::attach}) {
  must(chdir(workspace(ctx, "secret").c_str()), "chdir");
  ctx.join();
  steal(ctx, "token");
}

FILE_ATTACK(premade_root_is_refused, {.at = "open", .launch = Launch::attach, .root = true}) {
  must(chroot(workspace(ctx, "secret").c_str()), "chroot");
  ctx.join();
  steal(ctx, "/token");
}

// Another root moves no file.
FILE_ATTACK(read_after_chroot_is_refused, {.at = "open", .root = true}) {
  must(chroot(workspace(ctx, "").c_str()), "chroot");
  steal(ctx, "/secret/token");
}

FILE_ATTACK(read_after_chroot_into_denied_directory_is_refused, {.at = "open", .form = Form::carved, .root = true}) {
  must(chroot(workspace(ctx, "secret").c_str()), "chroot");
  steal(ctx, "/token");
}

FILE_ATTACK(write_after_chroot_is_refused, {.at = "open", .ground = Ground::memory, .root = true}) {
  must(chroot(workspace(ctx, "tests").c_str()), "chroot");
  overwrite("/test.py");
}

FILE_ATTACK(read_after_escape_from_chroot_is_refused, {.at = "open", .root = true}) {
  must(chdir(workspace(ctx, "").c_str()), "chdir");
  must(chroot("dir"), "chroot");
  steal(ctx, "../outside/token");
}
