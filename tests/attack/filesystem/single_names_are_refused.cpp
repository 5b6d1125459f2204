// SPDX-License-Identifier: Apache-2.0
// Rules that name one entry: what may be done to it does not include taking it away from a directory that may only be
// read, and another rule beside it does not change what is remembered for its directory.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"
#include "tests/attack/lib/programs.h"

using namespace attack;

namespace {

void three_levels(const FileScene& s) {
  admin_mkdir(s("workspace/x/y"));
  admin_write(s("workspace/x/y/z"), "original x/y/z");
}
bool three_levels_gone(const FileScene& s) { return access(s("workspace/x/y/z").c_str(), F_OK) != 0; }

void one_of_three_levels(const FileScene& s) { admin_mkdir(s("workspace/x")); }
bool one_of_three_levels_gone(const FileScene& s) { return access(s("workspace/x").c_str(), F_OK) != 0; }

void empty_directory(const FileScene& s) { admin_mkdir(s("workspace/ro/empty")); }

Fd open_writable_file(const FileScene& s) { return admin_open(s("workspace/ro/file"), O_RDWR); }

void* map_stdin(int protection) {
  void* memory = mmap(nullptr, 8, protection, MAP_SHARED, STDIN_FILENO, 0);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  return memory;
}

}  // namespace

// ---- the entry of a file or directory that may be written, in a directory that may not ----

FILE_ATTACK(removal_of_single_writable_file_is_refused, {.at = "unlink", .write = "workspace/ro/file "}) {
  must(unlink(workspace(ctx, "ro/file").c_str()), "unlink");
}

FILE_ATTACK(removal_of_single_writable_file_on_tmpfs_is_refused,
            {.at = "unlink", .form = Form::carved, .ground = Ground::memory, .write = "workspace/ro/file "}) {
  must(unlink(workspace(ctx, "ro/file").c_str()), "unlink");
}

FILE_ATTACK(removal_of_single_writable_directory_is_refused,
            {.at = "rmdir", .write = "workspace/ro/empty ", .prepare = empty_directory}) {
  must(rmdir(workspace(ctx, "ro/empty").c_str()), "rmdir");
}

FILE_ATTACK(rename_of_single_writable_file_out_is_refused, {.at = "rename", .write = "workspace/ro/file "}) {
  rename_to(workspace(ctx, "ro/file"), workspace(ctx, "moved"));
}

FILE_ATTACK(rename_of_single_writable_directory_out_is_refused,
            {.at = "rename", .form = Form::carved, .write = "workspace/ro/empty ", .prepare = empty_directory}) {
  rename_to(workspace(ctx, "ro/empty"), workspace(ctx, "moved"));
}

// ---- all directories above a protected path stay ----

FILE_ATTACK(rename_two_levels_above_protected_file_is_refused,
            {.at = "rename", .protect = "workspace/x/y/z ", .prepare = three_levels, .harmed = three_levels_gone}) {
  rename_to(workspace(ctx, "x"), workspace(ctx, "moved"));
}

FILE_ATTACK(exchange_two_levels_above_protected_file_is_refused, {.at = "rename",
                                                                  .form = Form::open,
                                                                  .protect = "workspace/x/y/z ",
                                                                  .prepare = three_levels,
                                                                  .harmed = three_levels_gone}) {
  rename_to(workspace(ctx, "dir"), workspace(ctx, "x"), RENAME_EXCHANGE);
}

FILE_ATTACK(removal_two_levels_above_missing_protected_name_is_refused, {.at = "rmdir",
                                                                         .form = Form::carved,
                                                                         .protect = "workspace/x/y/z ",
                                                                         .prepare = one_of_three_levels,
                                                                         .harmed = one_of_three_levels_gone}) {
  must(rmdir(workspace(ctx, "x").c_str()), "rmdir");
}

// ---- what is remembered for a directory does not hold for another file's name in it ----

FILE_ATTACK(denied_hard_link_beside_opened_file_is_refused,
            {.at = "open",
             .prepare = [](const FileScene& s) { admin_link(s("workspace/secret.key"), s("workspace/dir/alias")); }}) {
  for (int i = 0; i < 2; i++) open_file(workspace(ctx, "dir/file"), O_RDONLY);
  const Fd fd(must(open(workspace(ctx, "dir/alias").c_str(), O_RDONLY | O_CLOEXEC), "open"));
  take(ctx, fd);
}

FILE_ATTACK(protected_hard_link_beside_written_file_is_refused,
            {.at = "open", .form = Form::open, .ground = Ground::memory, .prepare = [](const FileScene& s) {
               admin_link(s("workspace/instruction.md"), s("workspace/dir/alias"));
             }}) {
  for (int i = 0; i < 2; i++) open_file(workspace(ctx, "dir/file"), O_RDWR);
  overwrite(workspace(ctx, "dir/alias"));
}

PROGRAM_ATTACK(
    denied_hard_link_beside_program_that_ran_is_refused,
    {.at = "exec", .programs = Programs::named, .forbid = "workspace/tool ", .prepare = [](const FileScene& s) {
       admin_program(s, s("workspace/tool"));
       admin_link(s("workspace/tool"), s("workspace/dir/alias"));
       admin_write(s("workspace/dir/script"), "#!/bin/sh\n", 0755);
     }}) {
  for (int i = 0; i < 2; i++) run_and_take(ctx, {workspace(ctx, "dir/script")});
  run_and_take(ctx, {workspace(ctx, "dir/alias"), "stamp"});
}

// ---- a descriptor that the operator handed over open for writing gives no mapping that writes ----

FILE_ATTACK(shared_mapping_of_writable_stdin_is_refused,
            {.at = "mmap", .handed = open_writable_file, .handed_as_stdin = true}) {
  std::memcpy(map_stdin(PROT_READ | PROT_WRITE), "mapping!", 8);
}

FILE_ATTACK(shared_mapping_of_writable_stdin_made_writable_is_refused,
            {.at = "mmap", .form = Form::carved, .handed = open_writable_file, .handed_as_stdin = true}) {
  void* memory = map_stdin(PROT_READ);
  must(mprotect(memory, 8, PROT_READ | PROT_WRITE), "mprotect");
  std::memcpy(memory, "mapping!", 8);
}
