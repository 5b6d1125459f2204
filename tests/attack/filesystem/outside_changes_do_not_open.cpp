// SPDX-License-Identifier: Apache-2.0
// The outside moves and replaces what has rules while the sandbox runs: what is denied stays denied at the place that
// it had, and a protected name protects whatever is there now.
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

FILE_ATTACK(read_of_denied_directory_moved_outside_is_refused,
            {.at = "open",
             .meanwhile = [](const FileScene& s) { admin_rename(s("workspace/secret"), s("workspace/dir/moved")); }}) {
  ctx.join();
  steal(ctx, workspace(ctx, "dir/moved/token"));
}

// The directory itself has no rule, and what was found for it is remembered: until anything is renamed.
FILE_ATTACK(read_in_remembered_directory_moved_to_denied_place_is_refused,
            {.at = "open", .form = Form::carved, .meanwhile = [](const FileScene& s) {
               admin_rename(s("workspace/dir"), s("workspace/secret/moved"));
               admin_write(s("workspace/secret/moved/token"), s.secret);
             }}) {
  take(ctx, open_file(workspace(ctx, "dir/file"), O_RDONLY));
  ctx.join();
  steal(ctx, workspace(ctx, "secret/moved/token"));
}

FILE_ATTACK(read_of_denied_directory_made_anew_is_refused,
            {.at = "open", .form = Form::open, .meanwhile = [](const FileScene& s) {
               admin_remove(s("outside"));
               admin_mkdir(s("outside"));
               admin_write(s("outside/token"), s.secret);
             }}) {
  ctx.join();
  steal(ctx, scene(ctx, "outside/token"));
}

FILE_ATTACK(read_of_denied_file_replaced_outside_is_refused, {.at = "open", .meanwhile = [](const FileScene& s) {
                                                                admin_write(s("workspace/new"), s.secret);
                                                                admin_rename(s("workspace/new"),
                                                                             s("workspace/secret.key"));
                                                              }}) {
  ctx.join();
  steal(ctx, workspace(ctx, "secret.key"));
}

FILE_ATTACK(write_to_protected_file_replaced_outside_is_refused,
            {.at = "open", .form = Form::carved, .meanwhile = [](const FileScene& s) {
               admin_write(s("workspace/new"), "version two");
               admin_rename(s("workspace/new"), s("workspace/instruction.md"));
             }}) {
  ctx.join();
  overwrite(workspace(ctx, "instruction.md"));
}

FILE_ATTACK(write_to_file_replaced_in_protected_directory_is_refused,
            {.at = "open", .meanwhile = [](const FileScene& s) {
               admin_write(s("elsewhere/new"), "two");
               admin_rename(s("elsewhere/new"), s("workspace/tests/test.py"));
             }}) {
  ctx.join();
  overwrite(workspace(ctx, "tests/test.py"));
}

FILE_ATTACK(creation_in_protected_directory_made_anew_is_refused, {.at = "create", .meanwhile = [](const FileScene& s) {
                                                                     admin_rename(s("workspace/tests"),
                                                                                  s("workspace/old"));
                                                                     admin_mkdir(s("workspace/tests"));
                                                                   }}) {
  ctx.join();
  create(workspace(ctx, "tests/new"));
}

// Its parent was replaced as well: all that remains is the names.
FILE_ATTACK(write_below_parent_made_anew_is_refused, {.at = "open", .meanwhile = [](const FileScene& s) {
                                                        admin_rename(s("workspace/project"), s("workspace/old"));
                                                        admin_mkdir(s("workspace/project/tests"));
                                                        admin_write(s("workspace/project/tests/test.py"), "new");
                                                      }}) {
  ctx.join();
  overwrite(workspace(ctx, "project/tests/test.py"));
}

FILE_ATTACK(removal_of_protected_name_made_outside_is_refused,
            {.at = "unlink", .form = Form::open, .meanwhile = [](const FileScene& s) {
               admin_mkdir(s("workspace/a"));
               admin_write(s("workspace/a/b"), "original");
             }}) {
  ctx.join();
  must(unlink(workspace(ctx, "a/b").c_str()), "unlink");
}

FILE_ATTACK(rename_above_protected_name_made_outside_is_refused, {.at = "rename", .meanwhile = [](const FileScene& s) {
                                                                    admin_mkdir(s("workspace/a"));
                                                                    admin_write(s("workspace/a/b"), "original");
                                                                  }}) {
  ctx.join();
  rename_to(workspace(ctx, "a"), workspace(ctx, "old"));
}

FILE_ATTACK(read_through_bind_mount_made_outside_is_refused,
            {.at = "open", .form = Form::carved, .meanwhile = [](const FileScene& s) {
               admin_bind(s("workspace/secret"), s("workspace/mnt"));
             }}) {
  ctx.join();
  steal(ctx, workspace(ctx, "mnt/token"));
}
