// SPDX-License-Identifier: Apache-2.0
// A list of what may be run, and a program that is not on it, by every way to start one.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/lib/process.h"
#include "tests/attack/lib/programs.h"

using namespace attack;

namespace {

void admin_unlisted_program(const FileScene& s) { admin_program(s, s("workspace/secret/program")); }

std::string unlisted_program(const Context& ctx) { return workspace(ctx, "secret/program"); }

void script_of(const std::string& path, const std::string& interpreter) {
  admin_write(path, "#!" + interpreter + " stamp\n", 0755);
}

}  // namespace

PROGRAM_ATTACK(unlisted_program_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  run_and_take(ctx, {unlisted_program(ctx), "stamp"});
}

PROGRAM_ATTACK(unlisted_program_in_audited_policy_is_refused,
               {.at = "exec", .programs = Programs::listed, .grant = Grant::audit, .prepare = admin_unlisted_program}) {
  run_and_take(ctx, {unlisted_program(ctx), "stamp"});
}

PROGRAM_ATTACK(unlisted_program_on_tmpfs_is_refused, {.at = "exec",
                                                      .programs = Programs::listed,
                                                      .ground = Ground::memory,
                                                      .prepare = admin_unlisted_program}) {
  run_and_take(ctx, {unlisted_program(ctx), "stamp"});
}

PROGRAM_ATTACK(unlisted_program_on_overlay_is_refused, {.at = "exec",
                                                        .programs = Programs::listed,
                                                        .ground = Ground::overlay,
                                                        .prepare = admin_unlisted_program}) {
  run_and_take(ctx, {unlisted_program(ctx), "stamp"});
}

PROGRAM_ATTACK(program_denied_within_a_listed_directory_is_refused,
               {.at = "exec",
                .programs = Programs::listed,
                .forbid = "workspace/ro/dir",
                .prepare = [](const FileScene& s) { admin_program(s, s("workspace/ro/dir/program")); }}) {
  run_and_take(ctx, {workspace(ctx, "ro/dir/program"), "stamp"});
}

PROGRAM_ATTACK(unlisted_program_by_path_descriptor_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  run_fd_and_take(ctx, open_path(unlisted_program(ctx)), "");
}

PROGRAM_ATTACK(unlisted_program_by_open_descriptor_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  run_fd_and_take(ctx, open_file(unlisted_program(ctx), O_RDONLY), "");
}

PROGRAM_ATTACK(unlisted_program_below_directory_descriptor_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  run_fd_and_take(ctx, open_path(workspace(ctx, "secret")), "program");
}

PROGRAM_ATTACK(unlisted_program_by_proc_descriptor_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  const Fd fd = open_path(unlisted_program(ctx));
  run_and_take(ctx, {fd_link(fd), "stamp"});
}

PROGRAM_ATTACK(unlisted_program_by_proc_root_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  run_and_take(ctx, {"/proc/self/root" + unlisted_program(ctx), "stamp"});
}

PROGRAM_ATTACK(unlisted_program_by_link_in_listed_directory_is_refused, {.at = "exec",
                                                                         .programs = Programs::listed,
                                                                         .allow = "workspace/dir",
                                                                         .prepare = admin_unlisted_program}) {
  must(symlink(unlisted_program(ctx).c_str(), workspace(ctx, "dir/program").c_str()), "symlink");
  run_and_take(ctx, {workspace(ctx, "dir/program"), "stamp"});
}

PROGRAM_ATTACK(unlisted_program_by_hard_link_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = [](const FileScene& s) {
                  admin_mkdir(s("workspace/tools"));
                  admin_program(s, s("workspace/tools/program"));
                }}) {
  must(link(workspace(ctx, "tools/program").c_str(), workspace(ctx, "dir/program").c_str()), "link");
  run_and_take(ctx, {workspace(ctx, "dir/program"), "stamp"});
}

PROGRAM_ATTACK(unlisted_program_from_vfork_like_child_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  in_vfork_like_child([&] { run_and_take(ctx, {unlisted_program(ctx), "stamp"}); });
}

PROGRAM_ATTACK(unlisted_program_from_thread_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  in_thread([&] { run_and_take(ctx, {unlisted_program(ctx), "stamp"}); });
}

PROGRAM_ATTACK(unlisted_program_from_daemon_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  in_daemon([&] { run_and_take(ctx, {unlisted_program(ctx), "stamp"}); });
}

PROGRAM_ATTACK(unlisted_set_user_id_program_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = [](const FileScene& s) {
                  admin_unlisted_program(s);
                  must(chmod(s("workspace/secret/program").c_str(), 04755), "chmod");
                }}) {
  run_and_take(ctx, {unlisted_program(ctx), "stamp"});
}

PROGRAM_ATTACK(unlisted_script_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = [](const FileScene& s) {
                  admin_write(s("workspace/secret/script"), "#!/bin/sh\necho " + s.secret + "\n", 0755);
                }}) {
  run_and_take(ctx, {workspace(ctx, "secret/script")});
}

PROGRAM_ATTACK(unlisted_interpreter_of_listed_script_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = [](const FileScene& s) {
                  admin_unlisted_program(s);
                  script_of(s("workspace/ro/script"), s("workspace/secret/program"));
                }}) {
  run_and_take(ctx, {workspace(ctx, "ro/script")});
}

// A listed script whose interpreter is a listed script whose interpreter is not.
PROGRAM_ATTACK(unlisted_interpreter_of_interpreter_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = [](const FileScene& s) {
                  admin_unlisted_program(s);
                  script_of(s("workspace/ro/inner"), s("workspace/secret/program"));
                  script_of(s("workspace/ro/script"), s("workspace/ro/inner"));
                }}) {
  run_and_take(ctx, {workspace(ctx, "ro/script")});
}

// The dynamic loader maps the program: no exec of it takes place.
PROGRAM_ATTACK(unlisted_program_by_dynamic_loader_is_refused,
               {.at = "loader", .programs = Programs::listed, .prepare = admin_unlisted_program}) {
  run_and_take(ctx, {"/lib64/ld-linux-x86-64.so.2", unlisted_program(ctx), "stamp"});
}

// A listed program that names an unlisted loader. The kernel maps it after the old program is gone: the process is
// killed.
PROGRAM_ATTACK(unlisted_elf_interpreter_is_refused,
               {.at = "loader", .expected = ENOEXEC, .programs = Programs::listed, .prepare = [](const FileScene& s) {
                  admin_program_of(s, s("workspace/ro/program"), s("ld"));
                  const Fd fd(must(open(s("ld").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0755), "admin open"));
                  copy_into(fd, "/lib64/ld-linux-x86-64.so.2");
                }}) {
  run_and_take(ctx, {workspace(ctx, "ro/program"), "stamp"});
}
