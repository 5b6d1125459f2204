// SPDX-License-Identifier: Apache-2.0
// Symbolic links lead to a place whose rules hold; a hard link would give a file a second place.
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

void hard_link(const std::string& from, const std::string& to) { must(link(from.c_str(), to.c_str()), "link"); }

void soft_link(const std::string& target, const std::string& path) {
  must(symlink(target.c_str(), path.c_str()), "symlink");
}

}  // namespace

FILE_ATTACK(read_through_premade_symlink_is_refused,
            {.at = "open", .form = Form::carved, .prepare = [](const FileScene& s) {
               admin_symlink("secret/token", s("workspace/link"));
             }}) {
  steal(ctx, workspace(ctx, "link"));
}

FILE_ATTACK(read_through_premade_directory_symlink_is_refused,
            {.at = "open", .prepare = [](const FileScene& s) { admin_symlink(s("outside"), s("workspace/link")); }}) {
  steal(ctx, workspace(ctx, "link/token"));
}

FILE_ATTACK(read_through_own_symlink_is_refused, {.at = "open"}) {
  soft_link(scene(ctx, "outside/token"), workspace(ctx, "link"));
  steal(ctx, workspace(ctx, "link"));
}

FILE_ATTACK(read_through_own_directory_symlink_is_refused, {.at = "open", .ground = Ground::memory}) {
  soft_link("../secret", workspace(ctx, "dir/link"));
  steal(ctx, workspace(ctx, "dir/link/dir/../token"));
}

FILE_ATTACK(write_through_own_symlink_is_refused, {.at = "open", .form = Form::carved}) {
  soft_link("tests/test.py", workspace(ctx, "link"));
  overwrite(workspace(ctx, "link"));
}

FILE_ATTACK(creation_through_dangling_symlink_is_refused, {.at = "create"}) {
  soft_link("tests/new", workspace(ctx, "link"));
  create(workspace(ctx, "link"));
}

// The link itself is in a place that may only be read.
FILE_ATTACK(replacement_of_symlink_is_refused, {.at = "unlink", .prepare = [](const FileScene& s) {
                                                  admin_symlink("../free", s("workspace/tests/link"));
                                                }}) {
  must(unlink(workspace(ctx, "tests/link").c_str()), "unlink");
  soft_link("../dir/file", workspace(ctx, "tests/link"));
}

FILE_ATTACK(hard_link_to_denied_file_is_refused, {.at = "link"}) {
  hard_link(workspace(ctx, "secret/token"), workspace(ctx, "link"));
  steal(ctx, workspace(ctx, "link"));
}

FILE_ATTACK(hard_link_to_read_only_file_is_refused, {.at = "link"}) {
  hard_link(workspace(ctx, "ro/file"), workspace(ctx, "link"));
  overwrite(workspace(ctx, "link"));
}

FILE_ATTACK(hard_link_to_protected_file_is_refused, {.at = "link", .form = Form::open}) {
  hard_link(workspace(ctx, "instruction.md"), workspace(ctx, "link"));
  overwrite(workspace(ctx, "link"));
}

FILE_ATTACK(hard_link_to_read_only_file_on_tmpfs_is_refused, {.at = "link", .ground = Ground::memory}) {
  hard_link(workspace(ctx, "ro/file"), workspace(ctx, "link"));
  overwrite(workspace(ctx, "link"));
}

FILE_ATTACK(hard_link_into_protected_directory_is_refused, {.at = "link"}) {
  hard_link(workspace(ctx, "free"), workspace(ctx, "tests/new"));
}

FILE_ATTACK(hard_link_to_symlink_target_is_refused, {.at = "linkat"}) {
  soft_link("secret/token", workspace(ctx, "link"));
  must(linkat(AT_FDCWD, workspace(ctx, "link").c_str(), AT_FDCWD, workspace(ctx, "hard").c_str(), AT_SYMLINK_FOLLOW),
       "linkat");
  steal(ctx, workspace(ctx, "hard"));
}

FILE_ATTACK(hard_link_to_descriptor_is_refused, {.at = "linkat"}) {
  const Fd fd = open_path(workspace(ctx, "secret/token"));
  must(linkat(fd.get(), "", AT_FDCWD, workspace(ctx, "hard").c_str(), AT_EMPTY_PATH), "linkat");
  steal(ctx, workspace(ctx, "hard"));
}

FILE_ATTACK(hard_link_to_proc_descriptor_is_refused, {.at = "linkat", .form = Form::carved}) {
  const Fd fd = open_file(workspace(ctx, "ro/file"), O_RDONLY);
  must(linkat(AT_FDCWD, fd_link(fd).c_str(), AT_FDCWD, workspace(ctx, "hard").c_str(), AT_SYMLINK_FOLLOW), "linkat");
  overwrite(workspace(ctx, "hard"));
}

// A file without a name gets one where it must not.
FILE_ATTACK(unnamed_file_linked_into_protected_directory_is_refused, {.at = "linkat"}) {
  const Fd fd = open_file(workspace(ctx, "dir"), O_TMPFILE | O_RDWR);
  write_text(fd, "new");
  must(linkat(AT_FDCWD, fd_link(fd).c_str(), AT_FDCWD, workspace(ctx, "tests/new").c_str(), AT_SYMLINK_FOLLOW),
       "linkat");
}

FILE_ATTACK(unnamed_file_linked_to_protected_name_is_refused, {.at = "linkat"}) {
  const Fd fd = open_file(workspace(ctx, "dir"), O_TMPFILE | O_RDWR);
  must(linkat(fd.get(), "", AT_FDCWD, workspace(ctx, ".hooks").c_str(), AT_EMPTY_PATH), "linkat");
}

FILE_ATTACK(unnamed_file_in_read_only_directory_is_refused, {.at = "open"}) {
  const Fd fd = open_file(workspace(ctx, "ro"), O_TMPFILE | O_RDWR);
  must(linkat(fd.get(), "", AT_FDCWD, workspace(ctx, "ro/new").c_str(), AT_EMPTY_PATH), "linkat");
}

// The administrator linked a file that has a rule of its own: the rule goes with the file.
FILE_ATTACK(read_of_premade_hard_link_is_refused, {.at = "open", .prepare = [](const FileScene& s) {
                                                     admin_link(s("workspace/secret.key"), s("workspace/alias"));
                                                   }}) {
  steal(ctx, workspace(ctx, "alias"));
}

FILE_ATTACK(write_to_premade_hard_link_is_refused,
            {.at = "open", .form = Form::carved, .prepare = [](const FileScene& s) {
               admin_link(s("workspace/instruction.md"), s("workspace/alias"));
             }}) {
  overwrite(workspace(ctx, "alias"));
}
