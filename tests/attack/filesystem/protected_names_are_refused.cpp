// SPDX-License-Identifier: Apache-2.0
// A protected name that does not exist yet: nothing may appear under it, by whatever call, and neither by way of a
// directory above it.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

FILE_ATTACK(creation_of_protected_name_is_refused, {.at = "create"}) { create(workspace(ctx, ".hooks")); }

FILE_ATTACK(creation_of_protected_name_on_tmpfs_is_refused, {.at = "create", .ground = Ground::memory}) {
  create(workspace(ctx, ".hooks"));
}

FILE_ATTACK(exclusive_creation_of_protected_name_is_refused, {.at = "open", .form = Form::open}) {
  open_file(workspace(ctx, ".hooks"), O_CREAT | O_EXCL | O_RDONLY);
}

FILE_ATTACK(relative_creation_of_protected_name_is_refused, {.at = "openat"}) {
  const Fd directory = open_file(workspace(ctx, "dir"), O_RDONLY | O_DIRECTORY);
  open_at(directory.get(), "../.hooks", O_CREAT | O_WRONLY);
}

FILE_ATTACK(mkdir_of_protected_name_is_refused, {.at = "mkdir", .form = Form::carved}) {
  must(mkdir(workspace(ctx, ".hooks").c_str(), 0755), "mkdir");
}

FILE_ATTACK(mkfifo_of_protected_name_is_refused, {.at = "mkfifo"}) {
  must(mkfifo(workspace(ctx, ".hooks").c_str(), 0644), "mkfifo");
}

FILE_ATTACK(symlink_at_protected_name_is_refused, {.at = "symlink"}) {
  must(symlink("dir", workspace(ctx, ".hooks").c_str()), "symlink");
}

FILE_ATTACK(link_to_protected_name_is_refused, {.at = "link"}) {
  must(link(workspace(ctx, "free").c_str(), workspace(ctx, ".hooks").c_str()), "link");
}

FILE_ATTACK(rename_onto_protected_name_is_refused, {.at = "rename"}) {
  rename_to(workspace(ctx, "free"), workspace(ctx, ".hooks"));
}

FILE_ATTACK(rename_of_directory_onto_protected_name_is_refused, {.at = "rename", .form = Form::carved}) {
  rename_to(workspace(ctx, "dir"), workspace(ctx, ".hooks"));
}

// bind(2) makes a file.
FILE_ATTACK(unix_bind_at_protected_name_is_refused, {.at = "bind"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  bind_to(fd, unix_path(workspace(ctx, ".hooks")));
}

FILE_ATTACK(unix_bind_in_read_only_directory_is_refused, {.at = "bind", .form = Form::open}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_DGRAM);
  bind_to(fd, unix_path(workspace(ctx, "ro/socket")));
}

// The administrator's `protect: a/b` where not even `a` exists. The directory may be made, the name in it not.
FILE_ATTACK(creation_below_new_parent_is_refused, {.at = "create"}) {
  must(mkdir(workspace(ctx, "a").c_str(), 0755), "mkdir");
  create(workspace(ctx, "a/c"));
  must(unlink(workspace(ctx, "a/c").c_str()), "unlink");
  create(workspace(ctx, "a/b"));
}

FILE_ATTACK(creation_below_new_parent_on_tmpfs_is_refused, {.at = "mkdir", .ground = Ground::memory}) {
  if (mkdir(workspace(ctx, "a").c_str(), 0755) != 0) throw Failure{errno, "mkdir of the parent"};
  must(mkdir(workspace(ctx, "a/b").c_str(), 0755), "mkdir");
}

// A directory that has the name already, moved to where the name is protected.
FILE_ATTACK(rename_that_brings_protected_name_is_refused, {.at = "rename"}) {
  must(mkdir(workspace(ctx, "new").c_str(), 0755), "mkdir");
  create(workspace(ctx, "new/b"));
  rename_to(workspace(ctx, "new"), workspace(ctx, "a"));
}

// The same by a link: the administrator's a/b would be the attacker's dir/b.
FILE_ATTACK(symlink_that_brings_protected_name_is_refused, {.at = "symlink"}) {
  create(workspace(ctx, "dir/b"));
  must(symlink("dir", workspace(ctx, "a").c_str()), "symlink");
}

// The parent is made by the outside while the sandbox runs.
FILE_ATTACK(creation_below_parent_made_outside_is_refused,
            {.at = "create", .meanwhile = [](const FileScene& s) { admin_mkdir(s("workspace/a")); }}) {
  ctx.join();
  create(workspace(ctx, "a/b"));
}

FILE_ATTACK(write_to_protected_name_made_outside_is_refused,
            {.at = "open", .meanwhile = [](const FileScene& s) { admin_write(s("workspace/.hooks"), "original"); }}) {
  ctx.join();
  overwrite(workspace(ctx, ".hooks"));
}

FILE_ATTACK(creation_in_protected_directory_made_outside_is_refused,
            {.at = "create", .form = Form::open, .meanwhile = [](const FileScene& s) {
               admin_mkdir(s("workspace/.hooks/dir"));
             }}) {
  ctx.join();
  create(workspace(ctx, ".hooks/dir/new"));
}

FILE_ATTACK(read_of_denied_name_made_outside_is_refused,
            {.at = "open", .meanwhile = [](const FileScene& s) { admin_write(s("workspace/later"), s.secret); }}) {
  ctx.join();
  steal(ctx, workspace(ctx, "later"));
}

FILE_ATTACK(read_in_denied_directory_made_outside_is_refused,
            {.at = "open", .form = Form::open, .meanwhile = [](const FileScene& s) {
               admin_mkdir(s("workspace/later/dir"));
               admin_write(s("workspace/later/dir/token"), s.secret);
             }}) {
  ctx.join();
  steal(ctx, workspace(ctx, "later/dir/token"));
}

// 255 bytes, and names that share their first 32 and more.
FILE_ATTACK(creation_of_long_protected_name_is_refused,
            {.at = "create",
             .protect = "workspace/tests/x workspace/dir/{long_name} ",
             .harmed = [](const FileScene& s) {
               return access(s("workspace/dir/" + std::string(255, 'n')).c_str(), F_OK) == 0;
             }}) {
  const std::string name = ctx.text("long_name");
  const Fd neighbour = open_file(workspace(ctx, "dir/" + name.substr(0, 254)), O_CREAT | O_WRONLY);
  const Fd other = open_file(workspace(ctx, "dir/" + name.substr(0, 254) + "m"), O_CREAT | O_WRONLY);
  create(workspace(ctx, "dir/" + name));
}
