// SPDX-License-Identifier: Apache-2.0
// Whoever may mount decides what a path means. In a sandbox with rules for files every form of it is refused, and so
// are namespaces in which it would be allowed. The scene's mounts are the driver's to remove.
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

constexpr int kPermission = EPERM;  // a guard, as in every sandbox: not a rule for files

std::string mount_point(const Context& ctx) {
  const std::string path = workspace(ctx, "mnt");
  must(mkdir(path.c_str(), 0755), "mkdir");
  return path;
}

void bind_mount(const std::string& from, const std::string& to) {
  must(mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr), "mount");
}

Fd clone_tree(const std::string& path) {
  return Fd(static_cast<int>(
      must(syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), "open_tree")));
}

void move_mount_to(int from_directory, const std::string& from, const std::string& to, unsigned flags) {
  must(syscall(SYS_move_mount, from_directory, from.c_str(), AT_FDCWD, to.c_str(), flags), "move_mount");
}

// A mount of workspace/ro that is read-only as a mount, where its files could be written but for that.
void frozen(const FileScene& s) {
  admin_bind(s("workspace/ro"), s("workspace/mnt"));
  must(mount(nullptr, s("workspace/mnt").c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), "admin remount");
}

// Something harmless over a directory with a secret.
void cover(const FileScene& s) {
  admin_mkdir(s("workspace/covered"));
  admin_write(s("workspace/covered/token"), s.secret);
  admin_bind(s("workspace/dir"), s("workspace/covered"));
}

// What is mounted on a mount that spreads, as those of systemd's hosts do, cannot be moved away.
void make_movable(const FileScene& s) {
  admin_bind(s.root, s.root);
  must(mount(nullptr, s.root.c_str(), nullptr, MS_PRIVATE, nullptr), "admin private mount");
  admin_bind(s("workspace/dir"), s("workspace/mnt"));
}

}  // namespace

FILE_ATTACK(bind_mount_of_denied_directory_is_refused,
            {.at = "mount", .expected = kPermission, .grant = Grant::none, .root = true}) {
  bind_mount(workspace(ctx, "secret"), mount_point(ctx));
  steal(ctx, workspace(ctx, "mnt/token"));
}

FILE_ATTACK(bind_mount_over_protected_file_is_refused,
            {.at = "mount", .expected = kPermission, .form = Form::carved, .grant = Grant::none, .root = true}) {
  bind_mount(workspace(ctx, "free"), workspace(ctx, "tests/test.py"));
}

FILE_ATTACK(bind_mount_within_workspace_is_refused,
            {.at = "mount",
             .expected = kPermission,
             .grant = Grant::audit,
             .harmed = [](const FileScene& s) { return access(s("workspace/mnt/file").c_str(), F_OK) == 0; },
             .root = true}) {
  bind_mount(workspace(ctx, "dir"), mount_point(ctx));
}

// The capability is refused as well, and with the same errno; but mount(2) asks the hook first.
FILE_ATTACK(tmpfs_over_denied_directory_is_refused,
            {.at = "mount", .expected = kPermission, .told = "denied sb_mount", .grant = Grant::none, .root = true}) {
  must(mount("none", workspace(ctx, "secret").c_str(), "tmpfs", 0, nullptr), "mount");
}

FILE_ATTACK(tmpfs_over_protected_directory_is_refused,
            {.at = "mount", .expected = kPermission, .form = Form::open, .grant = Grant::audit, .root = true}) {
  must(mount("none", workspace(ctx, "tests").c_str(), "tmpfs", 0, nullptr), "mount");
}

FILE_ATTACK(overlay_mount_over_denied_directory_is_refused,
            {.at = "mount", .expected = kPermission, .ground = Ground::memory, .grant = Grant::none, .root = true}) {
  const std::string options = "lowerdir=" + workspace(ctx, "dir") + ":" + workspace(ctx, "secret");
  must(mount("none", mount_point(ctx).c_str(), "overlay", 0, options.c_str()), "mount");
  steal(ctx, workspace(ctx, "mnt/token"));
}

// The whole disk once more, elsewhere.
FILE_ATTACK(
    second_mount_of_disk_is_refused,
    {.at = "mount", .expected = kPermission, .grant = Grant::none, .root = true, .lacking = {{ENODEV, ENOTBLK}}}) {
  struct stat info {};
  must(stat(workspace(ctx, "free").c_str(), &info), "stat");
  const std::string device = workspace(ctx, "disk"), point = mount_point(ctx);
  if (ctx.denied) must(mount("/dev/root", point.c_str(), "ext4", 0, nullptr), "mount");
  must(mknod(device.c_str(), S_IFBLK | 0600, info.st_dev), "mknod");
  must(mount(device.c_str(), point.c_str(), "ext4", 0, nullptr), "mount");
  steal(ctx, point + workspace(ctx, "secret/token"));
}

FILE_ATTACK(remount_for_writing_is_refused,
            {.at = "mount", .expected = kPermission, .grant = Grant::none, .prepare = frozen, .root = true}) {
  must(mount(nullptr, workspace(ctx, "mnt").c_str(), nullptr, MS_BIND | MS_REMOUNT, nullptr), "mount");
  overwrite(workspace(ctx, "mnt/file"));
}

FILE_ATTACK(propagation_change_is_refused, {.at = "mount",
                                            .expected = kPermission,
                                            .grant = Grant::none,
                                            .prepare = frozen,
                                            .harmed =
                                                [](const FileScene& s) {
                                                  // A shared mount cannot be told from here without a look at the
                                                  // table.
                                                  return access(s("workspace/shared").c_str(), F_OK) == 0;
                                                },
                                            .root = true}) {
  must(mount(nullptr, workspace(ctx, "mnt").c_str(), nullptr, MS_SHARED, nullptr), "mount");
  create(workspace(ctx, "shared"));
}

FILE_ATTACK(unmount_that_uncovers_is_refused,
            {.at = "umount", .expected = kPermission, .grant = Grant::none, .prepare = cover, .root = true}) {
  must(umount2(workspace(ctx, "covered").c_str(), MNT_DETACH), "umount");
  steal(ctx, workspace(ctx, "covered/token"));
}

FILE_ATTACK(move_of_mount_is_refused, {.at = "mount",
                                       .expected = kPermission,
                                       .grant = Grant::never,  // MS_MOVE is refused under every policy
                                       .prepare = make_movable,
                                       .root = true}) {
  must(mount(workspace(ctx, "mnt").c_str(), workspace(ctx, "tests").c_str(), nullptr, MS_MOVE, nullptr), "mount");
}

FILE_ATTACK(
    move_mount_over_protected_directory_is_refused,
    {.at = "move_mount", .expected = kPermission, .grant = Grant::none, .prepare = make_movable, .root = true}) {
  move_mount_to(AT_FDCWD, workspace(ctx, "mnt"), workspace(ctx, "tests"), 0);
}

FILE_ATTACK(open_tree_clone_is_refused,
            {.at = "open_tree", .expected = kPermission, .grant = Grant::none, .root = true}) {
  const Fd tree = clone_tree(workspace(ctx, "secret"));
  take(ctx, open_at(tree.get(), "token", O_RDONLY));
}

FILE_ATTACK(open_tree_clone_and_move_mount_are_refused,
            {.at = "open_tree", .expected = kPermission, .form = Form::open, .grant = Grant::none, .root = true}) {
  const Fd tree = clone_tree(workspace(ctx, "dir"));
  move_mount_to(tree.get(), "", workspace(ctx, "tests"), MOVE_MOUNT_F_EMPTY_PATH);
}

// Without CLONE it is a path descriptor.
FILE_ATTACK(open_from_open_tree_is_refused, {.at = "openat"}) {
  const Fd tree(static_cast<int>(
      must(syscall(SYS_open_tree, AT_FDCWD, workspace(ctx, "secret").c_str(), OPEN_TREE_CLOEXEC), "open_tree")));
  take(ctx, open_at(tree.get(), "token", O_RDONLY));
}

FILE_ATTACK(fsmount_over_protected_directory_is_refused,
            {.at = "fsopen", .expected = kPermission, .grant = Grant::none, .root = true}) {
  const Fd context(static_cast<int>(must(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), "fsopen")));
  must(syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "fsconfig");
  const Fd tree(static_cast<int>(must(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0), "fsmount")));
  move_mount_to(tree.get(), "", workspace(ctx, "tests"), MOVE_MOUNT_F_EMPTY_PATH);
}

FILE_ATTACK(mount_setattr_is_refused,
            {.at = "mount_setattr", .expected = kPermission, .grant = Grant::none, .prepare = frozen, .root = true}) {
  mount_attr attributes{};
  attributes.attr_clr = MOUNT_ATTR_RDONLY;
  must(syscall(SYS_mount_setattr, AT_FDCWD, workspace(ctx, "mnt").c_str(), 0, &attributes, sizeof(attributes)),
       "mount_setattr");
  overwrite(workspace(ctx, "mnt/file"));
}

FILE_ATTACK(mount_namespace_is_refused,
            {.at = "unshare", .expected = kPermission, .grant = Grant::none, .root = true}) {
  private_mounts();
  bind_mount(workspace(ctx, "secret"), mount_point(ctx));
  steal(ctx, workspace(ctx, "mnt/token"));
}

FILE_ATTACK(user_namespace_is_refused, {.at = "unshare", .expected = kPermission, .grant = Grant::none}) {
  must(unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare");
  must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make private");
  must(mount(workspace(ctx, "").c_str(), workspace(ctx, "dir").c_str(), nullptr, MS_BIND | MS_REC, nullptr), "mount");
  steal(ctx, workspace(ctx, "dir/secret/token"));
}

FILE_ATTACK(user_namespace_alone_is_refused,
            {.at = "unshare", .expected = kPermission, .form = Form::carved, .grant = Grant::none}) {
  must(unshare(CLONE_NEWUSER), "unshare");
  steal(ctx, workspace(ctx, "secret/token"));
}

FILE_ATTACK(clone_into_mount_namespace_is_refused,
            {.at = "clone", .expected = kPermission, .grant = Grant::none, .root = true}) {
  const auto child = static_cast<pid_t>(must(syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0), "clone"));
  if (child == 0) {
    try {
      must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make private");
      bind_mount(workspace(ctx, "secret"), workspace(ctx, "dir"));
      steal(ctx, workspace(ctx, "dir/token"));
    } catch (const Failure&) {
      _exit(1);
    }
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

// In a mount namespace of one's own. Inside there is none to be had, so only the call itself can be tried there: with
// arguments that it would refuse for other reasons, but later.
FILE_ATTACK(pivot_root_is_refused, {.at = "pivot_root", .expected = kPermission, .grant = Grant::none, .root = true}) {
  if (ctx.denied) must(syscall(SYS_pivot_root, "/", "/"), "pivot_root");
  private_mounts();
  bind_mount(workspace(ctx, "secret"), workspace(ctx, "secret"));
  must(chdir(workspace(ctx, "secret").c_str()), "chdir");
  must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
  must(umount2(".", MNT_DETACH), "umount");
  steal(ctx, "/token");
}

// Under the rules of the path that it is mounted at.
FILE_ATTACK(read_in_file_system_below_denied_directory_is_refused,
            {.at = "open", .form = Form::carved, .prepare = [](const FileScene& s) {
               must(mount("none", s("workspace/secret/dir").c_str(), "tmpfs", 0, nullptr), "admin mount");
               admin_write(s("workspace/secret/dir/token"), s.secret);
             }}) {
  steal(ctx, workspace(ctx, "secret/dir/token"));
}

FILE_ATTACK(creation_in_file_system_below_protected_directory_is_refused,
            {.at = "create", .prepare = [](const FileScene& s) {
               must(mount("none", s("workspace/tests/dir").c_str(), "tmpfs", 0, nullptr), "admin mount");
             }}) {
  create(workspace(ctx, "tests/dir/new"));
}
