// SPDX-License-Identifier: Apache-2.0
// Running a program that may not be read, and reaching files from one that is run.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

void denied_program(const FileScene& s) { admin_program(s, s("workspace/secret/program")); }

}  // namespace

FILE_ATTACK(execve_of_denied_program_is_refused, {.at = "exec", .prepare = denied_program}) {
  run_and_take(ctx, {workspace(ctx, "secret/program"), "stamp"});
}

FILE_ATTACK(execve_by_default_read_is_refused, {.at = "exec", .form = Form::carved, .prepare = denied_program}) {
  run_and_take(ctx, {workspace(ctx, "secret/program"), "stamp"});
}

FILE_ATTACK(execve_on_tmpfs_is_refused, {.at = "exec", .ground = Ground::memory, .prepare = denied_program}) {
  run_and_take(ctx, {workspace(ctx, "secret/program"), "stamp"});
}

FILE_ATTACK(execveat_of_path_descriptor_is_refused, {.at = "exec", .prepare = denied_program}) {
  run_fd_and_take(ctx, open_path(workspace(ctx, "secret/program")), "");
}

FILE_ATTACK(execveat_below_directory_descriptor_is_refused, {.at = "exec", .prepare = denied_program}) {
  run_fd_and_take(ctx, open_path(workspace(ctx, "secret")), "program");
}

FILE_ATTACK(execve_of_proc_descriptor_is_refused, {.at = "exec", .prepare = denied_program}) {
  const Fd fd = open_path(workspace(ctx, "secret/program"));
  run_and_take(ctx, {fd_link(fd), "stamp"});
}

FILE_ATTACK(execve_through_symlink_is_refused, {.at = "exec", .prepare = denied_program}) {
  must(symlink("secret/program", workspace(ctx, "program").c_str()), "symlink");
  run_and_take(ctx, {workspace(ctx, "program"), "stamp"});
}

// The dynamic loader maps the program: no exec of it takes place.
FILE_ATTACK(loading_of_denied_program_is_refused, {.at = "loader", .prepare = denied_program}) {
  run_and_take(ctx, {"/lib64/ld-linux-x86-64.so.2", workspace(ctx, "secret/program"), "stamp"});
}

// A script of the attacker's, which names the program as its interpreter.
FILE_ATTACK(denied_program_as_interpreter_is_refused, {.at = "exec", .prepare = denied_program}) {
  const std::string script = workspace(ctx, "script");
  write_text(open_file(script, O_CREAT | O_WRONLY, 0755), "#!" + workspace(ctx, "secret/program") + " stamp\n");
  run_and_take(ctx, {script});
}

// A script that may not be read, run by the system's shell.
FILE_ATTACK(denied_script_is_refused, {.at = "exec", .prepare = [](const FileScene& s) {
                                         admin_write(s("workspace/secret/script"), "#!/bin/sh\necho " + s.secret + "\n",
                                                     0755);
                                       }}) {
  run_and_take(ctx, {workspace(ctx, "secret/script")});
}

// A copy made before would run, a copy made inside needs to be read.
FILE_ATTACK(read_only_program_replaced_while_it_runs_is_refused,
            {.at = "open",
             .prepare = [](const FileScene& s) { admin_program(s, s("workspace/ro/program")); },
             .harmed =
                 [](const FileScene& s) {
                   struct stat info {};
                   return stat(s("workspace/ro/program").c_str(), &info) != 0 || info.st_size < 64;
                 }}) {
  overwrite(workspace(ctx, "ro/program"), O_TRUNC);
}
