// SPDX-License-Identifier: Apache-2.0
// Renaming: a file must not gain rights by it, no protected name may get another file, and no rule may be moved away
// from under its path by moving a directory above it.
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

FILE_ATTACK(rename_of_denied_file_out_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "secret/token"), workspace(ctx, "loot"));
  steal(ctx, workspace(ctx, "loot"));
}

FILE_ATTACK(rename_of_single_denied_file_is_refused, {.at = "rename", .form = Form::open}) {
  rename_to(workspace(ctx, "secret.key"), workspace(ctx, "loot"));
  steal(ctx, workspace(ctx, "loot"));
}

FILE_ATTACK(rename_of_read_only_file_out_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "ro/file"), workspace(ctx, "mine"));
}

FILE_ATTACK(rename_into_read_only_directory_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "free"), workspace(ctx, "ro/new"));
}

FILE_ATTACK(rename_into_denied_directory_is_refused, {.at = "rename", .form = Form::carved}) {
  rename_to(workspace(ctx, "free"), workspace(ctx, "secret/new"));
}

FILE_ATTACK(rename_out_of_workspace_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "free"), scene(ctx, "elsewhere/new"));
}

// How editors save, and how a test file is replaced by one that passes.
FILE_ATTACK(atomic_replacement_of_protected_file_is_refused, {.at = "rename"}) {
  create(workspace(ctx, "instruction.md.new"));
  rename_to(workspace(ctx, "instruction.md.new"), workspace(ctx, "instruction.md"));
}

FILE_ATTACK(replacement_in_protected_directory_is_refused, {.at = "rename", .form = Form::open}) {
  create(workspace(ctx, "new"));
  rename_to(workspace(ctx, "new"), workspace(ctx, "tests/test.py"));
}

FILE_ATTACK(replacement_of_protected_file_on_tmpfs_is_refused, {.at = "rename", .ground = Ground::memory}) {
  create(workspace(ctx, "new"));
  rename_to(workspace(ctx, "new"), workspace(ctx, "instruction.md"));
}

FILE_ATTACK(rename_of_protected_file_away_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "instruction.md"), workspace(ctx, "old.md"));
  create(workspace(ctx, "instruction.md"));
}

FILE_ATTACK(rename_within_protected_directory_is_refused, {.at = "rename", .form = Form::carved}) {
  rename_to(workspace(ctx, "tests/test.py"), workspace(ctx, "tests/dir/test.py"));
}

FILE_ATTACK(rename_of_protected_directory_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "tests"), workspace(ctx, "old"));
}

FILE_ATTACK(rename_of_protected_directory_on_tmpfs_is_refused, {.at = "rename", .ground = Ground::memory}) {
  rename_to(workspace(ctx, "tests"), workspace(ctx, "old"));
}

FILE_ATTACK(rename_of_directory_with_trailing_slash_is_refused, {.at = "rename", .form = Form::carved}) {
  rename_to(workspace(ctx, "tests/"), workspace(ctx, "old/"));
}

FILE_ATTACK(rename_of_denied_directory_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "secret"), workspace(ctx, "loot"));
  steal(ctx, workspace(ctx, "loot/token"));
}

FILE_ATTACK(rename_onto_bare_protected_directory_is_refused,
            {.at = "rename", .protect = "workspace/tests/bare ", .prepare = [](const FileScene& s) {
               admin_mkdir(s("workspace/tests/bare"));
             }}) {
  rename_to(workspace(ctx, "dir"), workspace(ctx, "tests/bare"));
}

FILE_ATTACK(exchange_with_protected_file_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "free"), workspace(ctx, "tests/test.py"), RENAME_EXCHANGE);
}

FILE_ATTACK(exchange_of_protected_file_is_refused, {.at = "rename", .form = Form::open}) {
  rename_to(workspace(ctx, "instruction.md"), workspace(ctx, "free"), RENAME_EXCHANGE);
}

FILE_ATTACK(exchange_with_denied_directory_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "dir"), workspace(ctx, "secret"), RENAME_EXCHANGE);
  steal(ctx, workspace(ctx, "dir/token"));
}

FILE_ATTACK(exchange_of_denied_directory_is_refused, {.at = "rename", .form = Form::carved}) {
  rename_to(scene(ctx, "outside"), workspace(ctx, "dir"), RENAME_EXCHANGE);
  steal(ctx, workspace(ctx, "dir/token"));
}

FILE_ATTACK(exchange_on_tmpfs_is_refused, {.at = "rename", .ground = Ground::memory}) {
  rename_to(workspace(ctx, "free"), workspace(ctx, "instruction.md"), RENAME_EXCHANGE);
}

FILE_ATTACK(rename_with_whiteout_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "ro/file"), workspace(ctx, "mine"), RENAME_WHITEOUT);
}

FILE_ATTACK(rename_without_replacing_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "free"), workspace(ctx, "tests/new"), RENAME_NOREPLACE);
}

// Directories between domains: what is in them would change its rights.
FILE_ATTACK(directory_renamed_into_read_only_directory_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "dir"), workspace(ctx, "ro/new"));
}

FILE_ATTACK(directory_renamed_out_of_read_only_directory_is_refused, {.at = "rename", .form = Form::open}) {
  rename_to(workspace(ctx, "ro/dir"), workspace(ctx, "mine"));
  overwrite(workspace(ctx, "mine/file"));
}

FILE_ATTACK(rename_of_whole_read_only_directory_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "ro"), workspace(ctx, "mine"));
}

// What lies above a rule keeps its place.
FILE_ATTACK(rename_above_protected_directory_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "project"), workspace(ctx, "old"));
  must(mkdir(workspace(ctx, "project").c_str(), 0755), "mkdir");
}

FILE_ATTACK(rename_above_denied_directory_on_tmpfs_is_refused, {.at = "rename", .ground = Ground::memory}) {
  rename_to(workspace(ctx, "project"), workspace(ctx, "old"));
  steal(ctx, workspace(ctx, "old/vault/token"));
}

FILE_ATTACK(exchange_above_protected_directory_is_refused, {.at = "rename", .form = Form::carved}) {
  rename_to(workspace(ctx, "dir"), workspace(ctx, "project"), RENAME_EXCHANGE);
}

FILE_ATTACK(rename_above_missing_protected_name_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "empty"), workspace(ctx, "old"));
}

FILE_ATTACK(removal_above_missing_protected_name_is_refused, {.at = "rmdir"}) {
  must(rmdir(workspace(ctx, "empty").c_str()), "rmdir");
}

FILE_ATTACK(replacement_above_missing_protected_name_is_refused, {.at = "rename", .form = Form::open}) {
  rename_to(workspace(ctx, "dir"), workspace(ctx, "empty"));
}

FILE_ATTACK(rename_of_workspace_is_refused, {.at = "rename", .form = Form::open}) {
  rename_to(scene(ctx, "workspace"), scene(ctx, "old"));
}
