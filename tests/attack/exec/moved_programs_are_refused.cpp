// SPDX-License-Identifier: Apache-2.0
// A list of what may be run in places that the attacker cannot write, and deny_writable: no copy helps.
#include <unistd.h>

#include "tests/attack/lib/process.h"
#include "tests/attack/lib/programs.h"

using namespace attack;

namespace {

void admin_free_program(const FileScene& s) { admin_program(s, s("workspace/free-program")); }

}  // namespace

PROGRAM_ATTACK(program_copied_out_of_the_list_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = [](const FileScene& s) {
                  admin_program(s, s("workspace/ro/program"));
                }}) {
  copy_program(workspace(ctx, "ro/program"), workspace(ctx, "dir/program"));
  run_and_take(ctx, {workspace(ctx, "dir/program"), "stamp"});
}

PROGRAM_ATTACK(program_moved_out_of_the_list_is_refused, {.at = "exec",
                                                          .programs = Programs::listed,
                                                          .allow = "workspace/tools",
                                                          .prepare = [](const FileScene& s) {
                                                            admin_mkdir(s("workspace/tools"));
                                                            admin_program(s, s("workspace/tools/program"));
                                                          }}) {
  rename_to(workspace(ctx, "tools/program"), workspace(ctx, "dir/program"));
  run_and_take(ctx, {workspace(ctx, "dir/program"), "stamp"});
}

// Files are judged too: what may be run cannot be replaced.
PROGRAM_ATTACK(program_moved_into_read_only_directory_is_refused,
               {.at = "rename", .programs = Programs::unwritable, .prepare = admin_free_program}) {
  rename_to(workspace(ctx, "free-program"), workspace(ctx, "ro/program"));
  run_and_take(ctx, {workspace(ctx, "ro/program"), "stamp"});
}

PROGRAM_ATTACK(program_linked_into_read_only_directory_is_refused,
               {.at = "link", .programs = Programs::unwritable, .prepare = admin_free_program}) {
  must(link(workspace(ctx, "free-program").c_str(), workspace(ctx, "ro/program").c_str()), "link");
  run_and_take(ctx, {workspace(ctx, "ro/program"), "stamp"});
}

PROGRAM_ATTACK(read_only_directory_replaced_by_own_is_refused,
               {.at = "rename", .programs = Programs::unwritable, .prepare = admin_free_program}) {
  rename_to(workspace(ctx, "free-program"), workspace(ctx, "dir/program"));
  rename_to(workspace(ctx, "ro"), workspace(ctx, "old"));
  rename_to(workspace(ctx, "dir"), workspace(ctx, "ro"));
  run_and_take(ctx, {workspace(ctx, "ro/program"), "stamp"});
}
