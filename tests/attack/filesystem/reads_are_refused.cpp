// SPDX-License-Identifier: Apache-2.0
// Reading what the policy denies, by its own name: each way of opening, each form of policy, each kind of file system.
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

FILE_ATTACK(read_of_denied_file_is_refused, {.at = "open"}) { steal(ctx, workspace(ctx, "secret/token")); }

// What a first look found is remembered, for each sandbox above the reader.
FILE_ATTACK(second_read_of_denied_file_is_refused, {.at = "open"}) {
  const Fd first(open(workspace(ctx, "secret/token").c_str(), O_RDONLY | O_CLOEXEC));
  steal(ctx, workspace(ctx, "secret/token"));
}

FILE_ATTACK(read_of_denied_file_by_default_read_is_refused, {.at = "open", .form = Form::carved}) {
  steal(ctx, scene(ctx, "outside/token"));
}

FILE_ATTACK(read_of_denied_file_by_default_write_is_refused, {.at = "open", .form = Form::open}) {
  steal(ctx, scene(ctx, "outside/token"));
}

FILE_ATTACK(read_of_unlisted_file_is_refused, {.at = "open"}) { steal(ctx, scene(ctx, "elsewhere/token")); }

FILE_ATTACK(read_of_denied_file_on_tmpfs_is_refused, {.at = "open", .ground = Ground::memory}) {
  steal(ctx, workspace(ctx, "secret/token"));
}

FILE_ATTACK(read_of_unlisted_file_on_tmpfs_is_refused, {.at = "open", .ground = Ground::memory}) {
  steal(ctx, scene(ctx, "elsewhere/token"));
}

FILE_ATTACK(read_of_file_below_denied_directory_is_refused, {.at = "open", .form = Form::carved}) {
  steal(ctx, workspace(ctx, "secret/dir/token"));
}

// A rule for one file, in a directory that is writable.
FILE_ATTACK(read_of_single_denied_file_is_refused, {.at = "open"}) { steal(ctx, workspace(ctx, "secret.key")); }

// A denial below a directory that has no rule of its own.
FILE_ATTACK(read_of_nested_denied_file_is_refused, {.at = "open"}) {
  steal(ctx, workspace(ctx, "project/vault/token"));
}

FILE_ATTACK(read_write_open_of_denied_file_is_refused, {.at = "open"}) {
  take(ctx, open_file(workspace(ctx, "secret/token"), O_RDWR));
}

FILE_ATTACK(creating_open_of_denied_file_is_refused, {.at = "open", .form = Form::open}) {
  take(ctx, open_file(workspace(ctx, "secret/token"), O_RDONLY | O_CREAT));
}

FILE_ATTACK(read_through_dot_dot_is_refused, {.at = "open", .form = Form::carved}) {
  steal(ctx, workspace(ctx, "dir/../../workspace/secret/../secret/token"));
}

FILE_ATTACK(read_relative_to_working_directory_is_refused, {.at = "open"}) {
  must(chdir(workspace(ctx, "secret").c_str()), "chdir");
  steal(ctx, "token");
}

FILE_ATTACK(read_above_working_directory_is_refused, {.at = "open"}) {
  must(chdir(workspace(ctx, "dir").c_str()), "chdir");
  steal(ctx, "../../outside/token");
}

FILE_ATTACK(read_relative_to_directory_descriptor_is_refused, {.at = "openat"}) {
  const Fd directory = open_path(workspace(ctx, "secret"));
  take(ctx, open_at(directory.get(), "token", O_RDONLY));
}

FILE_ATTACK(read_above_allowed_directory_descriptor_is_refused, {.at = "openat"}) {
  const Fd directory = open_file(workspace(ctx, "dir"), O_RDONLY | O_DIRECTORY);
  take(ctx, open_at(directory.get(), "../secret/token", O_RDONLY));
}

FILE_ATTACK(openat2_in_root_read_is_refused, {.at = "openat2"}) {
  const Fd directory = open_path(workspace(ctx, "secret"));
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  take(ctx, Fd(static_cast<int>(must(syscall(SYS_openat2, directory.get(), "/token", &how, sizeof(how)), "openat2"))));
}

FILE_ATTACK(read_from_child_is_refused, {.at = "open"}) {
  in_child([&] { steal(ctx, workspace(ctx, "secret/token")); });
}

FILE_ATTACK(read_from_thread_is_refused, {.at = "open"}) {
  in_thread([&] { steal(ctx, workspace(ctx, "secret/token")); });
}

// The names of a denied directory are as secret as its files.
FILE_ATTACK(listing_of_denied_directory_is_refused, {.at = "open"}) {
  list(ctx, open_file(scene(ctx, "outside"), O_RDONLY | O_DIRECTORY));
}

FILE_ATTACK(listing_of_denied_directory_by_default_read_is_refused, {.at = "open", .form = Form::carved}) {
  list(ctx, open_file(scene(ctx, "outside"), O_RDONLY | O_DIRECTORY));
}

FILE_ATTACK(listing_through_path_descriptor_is_refused, {.at = "openat"}) {
  const Fd directory = open_path(scene(ctx, "outside"));
  list(ctx, open_at(directory.get(), ".", O_RDONLY | O_DIRECTORY));
}

FILE_ATTACK(listing_on_tmpfs_is_refused, {.at = "open", .ground = Ground::memory}) {
  list(ctx, open_file(scene(ctx, "outside"), O_RDONLY | O_DIRECTORY));
}

// What a link says is what the directory's owner wrote there.
FILE_ATTACK(readlink_in_denied_directory_is_refused,
            {.at = "readlink", .prepare = [](const FileScene& s) { admin_symlink(s.secret, s("outside/link")); }}) {
  char target[256];
  const ssize_t got = must(readlink(scene(ctx, "outside/link").c_str(), target, sizeof(target)), "readlink");
  ctx.loot({target, static_cast<std::size_t>(got)});
}

FILE_ATTACK(getxattr_of_denied_file_is_refused,
            {.at = "getxattr", .prepare = [](const FileScene& s) {
               must(setxattr(s("outside/token").c_str(), "user.note", s.secret.data(), s.secret.size(), 0),
                    "admin setxattr");
             }}) {
  char value[256];
  const ssize_t got =
      must(getxattr(scene(ctx, "outside/token").c_str(), "user.note", value, sizeof(value)), "getxattr");
  ctx.loot({value, static_cast<std::size_t>(got)});
}

// 70 directories below the workspace are more than are walked: such a file has no verdict, and so is refused (I3).
FILE_ATTACK(read_beyond_the_walk_limit_is_refused,
            {.at = "open", .grant = Grant::none, .prepare = [](const FileScene& s) { admin_deep(s, 70); }}) {
  steal(ctx, scene(ctx, deep_name(70)) + "/token");
}

FILE_ATTACK(relative_read_beyond_the_walk_limit_is_refused,
            {.at = "open", .form = Form::open, .grant = Grant::none, .prepare = [](const FileScene& s) {
               admin_deep(s, 70);
             }}) {
  must(chdir(scene(ctx, deep_name(70)).c_str()), "chdir");
  steal(ctx, "token");
}

// A denied directory must be found from below, however deep the file lies.
FILE_ATTACK(read_deep_below_denied_directory_is_refused,
            {.at = "open", .form = Form::carved, .prepare = [](const FileScene& s) {
               std::string name = s("workspace/secret");
               for (int i = 0; i < 45; i++) name += "/d";
               admin_mkdir(name);
               admin_write(name + "/token", s.secret);
             }}) {
  std::string name = workspace(ctx, "secret");
  for (int i = 0; i < 45; i++) name += "/d";
  steal(ctx, name + "/token");
}

// Names of a group have nothing to do with each other: a prefix, or 32 bytes that they share.
FILE_ATTACK(read_of_denied_long_name_is_refused,
            {.at = "open",
             .deny = "workspace/a_name_of_more_than_thirty_two_bytes_that_is_denied workspace/{long_name} ",
             .prepare = [](const FileScene& s) {
               admin_write(s("workspace/a_name_of_more_than_thirty_two_bytes_that_is_free"), "free");
               admin_write(s("workspace/" + std::string(255, 'n')), s.secret);
             }}) {
  open_file(workspace(ctx, "a_name_of_more_than_thirty_two_bytes_that_is_free"), O_RDWR);
  steal(ctx, workspace(ctx, ctx.text("long_name")));
}

FILE_ATTACK(read_of_denied_name_with_shared_prefix_is_refused,
            {.at = "open",
             .deny = "workspace/a_name_of_more_than_thirty_two_bytes_that_is_denied ",
             .prepare = [](const FileScene& s) {
               admin_write(s("workspace/a_name_of_more_than_thirty_two_bytes_that_is_free"), "free");
               admin_write(s("workspace/a_name_of_more_than_thirty_two_bytes_that_is_denied"), s.secret);
             }}) {
  open_file(workspace(ctx, "a_name_of_more_than_thirty_two_bytes_that_is_free"), O_RDWR);
  steal(ctx, workspace(ctx, "a_name_of_more_than_thirty_two_bytes_that_is_denied"));
}
