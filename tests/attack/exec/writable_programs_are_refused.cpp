// SPDX-License-Identifier: Apache-2.0
// deny_writable: what the attacker may write, it may not run.
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/attack/lib/process.h"
#include "tests/attack/lib/programs.h"

using namespace attack;

namespace {

void admin_writable(const FileScene& s) {
  admin_program(s, s("workspace/dir/program"));
  admin_code(s, s("workspace/dir/code"));
}

// One file system in a place whose programs may be run, and in one that may be written.
void admin_mounted_twice(const FileScene& s) {
  admin_mkdir(s("workspace/ro/tools"));
  admin_mkdir(s("workspace/store"));
  must(mount("none", s("workspace/store").c_str(), "tmpfs", 0, "mode=0755"), "admin mount");
  admin_program(s, s("workspace/store/program"));
  admin_bind(s("workspace/store"), s("workspace/ro/tools"));
}

bool program_overwritten(const FileScene& s) {
  const Fd fd(open(s("workspace/store/program").c_str(), O_RDONLY | O_CLOEXEC));
  char text[11] = {};
  return fd && read(fd.get(), text, sizeof text) == 11 && std::memcmp(text, "overwritten", 11) == 0;
}

void admin_read_only_program(const FileScene& s) { admin_program(s, s("workspace/ro/program")); }

}  // namespace

PROGRAM_ATTACK(writable_program_is_refused,
               {.at = "exec", .programs = Programs::unwritable, .prepare = admin_writable}) {
  run_and_take(ctx, {workspace(ctx, "dir/program"), "stamp"});
}

PROGRAM_ATTACK(
    program_writable_by_default_is_refused,
    {.at = "exec", .programs = Programs::unwritable, .form = Form::open, .read = "/", .prepare = admin_writable}) {
  run_and_take(ctx, {workspace(ctx, "dir/program"), "stamp"});
}

PROGRAM_ATTACK(writable_program_on_overlay_is_refused,
               {.at = "exec", .programs = Programs::unwritable, .ground = Ground::overlay, .prepare = admin_writable}) {
  run_and_take(ctx, {workspace(ctx, "dir/program"), "stamp"});
}

PROGRAM_ATTACK(own_copy_of_program_is_refused,
               {.at = "exec", .programs = Programs::unwritable, .prepare = admin_read_only_program}) {
  copy_program(workspace(ctx, "ro/program"), workspace(ctx, "free"));
  must(chmod(workspace(ctx, "free").c_str(), 0755), "chmod");
  run_and_take(ctx, {workspace(ctx, "free"), "stamp"});
}

PROGRAM_ATTACK(own_script_is_refused,
               {.at = "exec", .programs = Programs::unwritable, .prepare = admin_read_only_program}) {
  const std::string script = workspace(ctx, "script");
  write_text(open_file(script, O_CREAT | O_WRONLY, 0755), "#!" + workspace(ctx, "ro/program") + " stamp\n");
  run_and_take(ctx, {script});
}

PROGRAM_ATTACK(executable_mapping_of_writable_code_is_refused,
               {.at = "mmap", .programs = Programs::unwritable, .prepare = admin_writable}) {
  run_code(ctx, map_file(workspace(ctx, "dir/code"), PROT_READ | PROT_EXEC));
}

PROGRAM_ATTACK(mapping_of_writable_code_made_executable_is_refused,
               {.at = "mprotect", .programs = Programs::unwritable, .prepare = admin_writable}) {
  void* memory = map_file(workspace(ctx, "dir/code"), PROT_READ);
  protect(memory, PROT_READ | PROT_EXEC);
  run_code(ctx, memory);
}

PROGRAM_ATTACK(writable_library_by_dynamic_loader_is_refused,
               {.at = "loader", .programs = Programs::unwritable, .prepare = admin_writable}) {
  run_and_take(ctx, {"/lib64/ld-linux-x86-64.so.2", workspace(ctx, "dir/program"), "stamp"});
}

PROGRAM_ATTACK(writing_where_a_file_system_is_also_run_is_refused, {.at = "open",
                                                                    .programs = Programs::unwritable,
                                                                    .prepare = admin_mounted_twice,
                                                                    .harmed = program_overwritten}) {
  overwrite(workspace(ctx, "store/program"));
}

PROGRAM_ATTACK(program_of_a_file_system_that_is_also_written_is_refused,
               {.at = "exec", .programs = Programs::unwritable, .prepare = admin_mounted_twice}) {
  run_and_take(ctx, {workspace(ctx, "ro/tools/program"), "stamp"});
}
