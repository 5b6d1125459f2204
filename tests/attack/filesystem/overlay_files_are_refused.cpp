// SPDX-License-Identifier: Apache-2.0
// The scene as a container has it: an overlay, where the kernel acts on files of the layers on the task's behalf.
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

constexpr Ground kOverlay = Ground::overlay;

// A file of the upper layer that has the number of the denied one in the lower layer, which lies on another filesystem.
void make_twin(const FileScene& s) {
  const std::string spare = s.base + "/top/spare";
  struct stat denied {
  }, info{};
  must(stat((s.base + "/lower/workspace/secret/token").c_str(), &denied), "admin stat");
  while (info.st_ino != denied.st_ino) {
    unlink(spare.c_str());
    admin_write(spare, "original");
    must(stat(spare.c_str(), &info), "admin stat");
    if (info.st_ino > denied.st_ino) throw Failure{ERANGE, "admin twin"};
  }
  admin_write(s("workspace/dir/new"), "original");  // so that the upper layer has the directory
  admin_rename(spare, s.base + "/top/upper/workspace/dir/twin");
}

std::string layer(const Context& ctx, const std::string& name) { return ctx.text("base") + "/" + name; }

}  // namespace

FILE_ATTACK(read_of_denied_file_on_overlay_is_refused, {.at = "open", .ground = kOverlay}) {
  steal(ctx, workspace(ctx, "secret/token"));
}

FILE_ATTACK(read_of_unlisted_file_on_overlay_is_refused, {.at = "open", .ground = kOverlay}) {
  steal(ctx, scene(ctx, "elsewhere/token"));
}

FILE_ATTACK(read_of_single_denied_file_on_overlay_is_refused,
            {.at = "open", .form = Form::carved, .ground = kOverlay}) {
  steal(ctx, workspace(ctx, "secret.key"));
}

// The rule names the twin, whose number the overlay gives to both.
FILE_ATTACK(read_of_denied_file_with_allowed_twin_on_overlay_is_refused,
            {.at = "open", .ground = kOverlay, .write = "workspace/dir/twin ", .prepare = make_twin}) {
  overwrite(workspace(ctx, "dir/twin"));
  steal(ctx, workspace(ctx, "secret/token"));
}

FILE_ATTACK(listing_on_overlay_is_refused, {.at = "open", .ground = kOverlay}) {
  list(ctx, open_file(scene(ctx, "outside"), O_RDONLY | O_DIRECTORY));
}

FILE_ATTACK(copy_up_of_read_only_file_is_refused, {.at = "open", .ground = kOverlay}) {
  overwrite(workspace(ctx, "ro/file"));
}

FILE_ATTACK(copy_up_of_protected_file_is_refused, {.at = "open", .form = Form::open, .ground = kOverlay}) {
  overwrite(workspace(ctx, "tests/dir/more.py"));
}

FILE_ATTACK(copy_up_by_reopening_is_refused, {.at = "open", .ground = kOverlay}) {
  const Fd fd = open_file(workspace(ctx, "instruction.md"), O_RDONLY);
  overwrite(fd_link(fd));
}

FILE_ATTACK(copy_up_by_truncate_is_refused, {.at = "truncate", .ground = kOverlay}) {
  must(truncate(workspace(ctx, "ro/file").c_str(), 0), "truncate");
}

FILE_ATTACK(copy_up_by_chmod_is_refused, {.at = "chmod", .form = Form::carved, .ground = kOverlay}) {
  must(chmod(workspace(ctx, "tests/test.py").c_str(), 0777), "chmod");
}

FILE_ATTACK(copy_up_by_chown_is_refused, {.at = "chown", .ground = kOverlay}) {
  must(chown(workspace(ctx, "ro/file").c_str(), 1000, 1000), "chown");
}

FILE_ATTACK(copy_up_by_utimes_is_refused, {.at = "utimensat", .ground = kOverlay}) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  must(utimensat(AT_FDCWD, workspace(ctx, "ro/file").c_str(), times, 0), "utimensat");
}

// By the capability, before any rule: the layer above is a tmpfs, which takes trusted attributes only.
FILE_ATTACK(copy_up_by_setxattr_is_refused,
            {.at = "setxattr", .expected = EPERM, .ground = kOverlay, .grant = Grant::none, .root = true}) {
  must(setxattr(workspace(ctx, "ro/file").c_str(), "trusted.mark", "x", 1, 0), "setxattr");
}

// Its whiteout would be in a writable layer.
FILE_ATTACK(whiteout_of_protected_file_is_refused, {.at = "unlink", .ground = kOverlay}) {
  must(unlink(workspace(ctx, "instruction.md").c_str()), "unlink");
}

FILE_ATTACK(creation_of_protected_name_on_overlay_is_refused, {.at = "create", .ground = kOverlay}) {
  create(workspace(ctx, ".hooks"));
}

FILE_ATTACK(creation_below_new_parent_on_overlay_is_refused,
            {.at = "create", .form = Form::carved, .ground = kOverlay}) {
  must(mkdir(workspace(ctx, "a").c_str(), 0755), "mkdir");
  create(workspace(ctx, "a/b"));
}

FILE_ATTACK(rename_onto_protected_file_on_overlay_is_refused, {.at = "rename", .ground = kOverlay}) {
  rename_to(workspace(ctx, "free"), workspace(ctx, "tests/test.py"));
}

FILE_ATTACK(rename_of_denied_file_on_overlay_is_refused, {.at = "rename", .form = Form::open, .ground = kOverlay}) {
  rename_to(workspace(ctx, "secret.key"), workspace(ctx, "loot"));
  steal(ctx, workspace(ctx, "loot"));
}

FILE_ATTACK(hard_link_on_overlay_is_refused, {.at = "link", .ground = kOverlay}) {
  must(link(workspace(ctx, "ro/file").c_str(), workspace(ctx, "link").c_str()), "link");
  overwrite(workspace(ctx, "link"));
}

FILE_ATTACK(reopening_of_path_descriptor_on_overlay_is_refused, {.at = "open", .ground = kOverlay}) {
  const Fd fd = open_path(workspace(ctx, "secret/token"));
  steal(ctx, fd_link(fd));
}

// By the layers' own paths, past the overlay and its rules.
FILE_ATTACK(read_of_lower_layer_is_refused, {.at = "open", .ground = kOverlay, .grant = Grant::none}) {
  steal(ctx, layer(ctx, "lower/workspace/secret/token"));
}

FILE_ATTACK(write_to_upper_layer_is_refused,
            {.at = "create", .ground = kOverlay, .grant = Grant::none, .prepare = [](const FileScene& s) {
               // Its directory is copied up, so that the upper layer has it.
               admin_write(s("workspace/tests/copied"), "original");
             }}) {
  create(layer(ctx, "top/upper/workspace/tests/new"));
}

FILE_ATTACK(
    write_to_upper_layer_by_default_read_is_refused,
    {.at = "open", .form = Form::carved, .ground = kOverlay, .grant = Grant::none, .prepare = [](const FileScene& s) {
       admin_write(s("workspace/tests/copied"), "original");
     }}) {
  overwrite(layer(ctx, "top/upper/workspace/tests/copied"), O_TRUNC);
}
