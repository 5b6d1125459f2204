// SPDX-License-Identifier: Apache-2.0
// No list of what may be run: only names that may not. They hold for the file, whatever it is called later, and for
// whatever comes to bear the name; not for a copy, against which nothing but a list helps.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/lib/process.h"
#include "tests/attack/lib/programs.h"

using namespace attack;

namespace {

void admin_denied_program(const FileScene& s) { admin_program(s, s("workspace/secret/program")); }

// Beside the places that the driver looks after, so that the attacker may move it.
void admin_movable_program(const FileScene& s) {
  admin_mkdir(s("workspace/tools"));
  admin_program(s, s("workspace/tools/program"));
}

}  // namespace

PROGRAM_ATTACK(denied_program_is_refused,
               {.at = "exec", .programs = Programs::named, .prepare = admin_denied_program}) {
  run_and_take(ctx, {workspace(ctx, "secret/program"), "stamp"});
}

PROGRAM_ATTACK(denied_program_on_overlay_is_refused, {.at = "exec",
                                                      .programs = Programs::named,
                                                      .ground = Ground::overlay,
                                                      .prepare = admin_denied_program}) {
  run_and_take(ctx, {workspace(ctx, "secret/program"), "stamp"});
}

PROGRAM_ATTACK(denied_program_by_hard_link_is_refused, {.at = "exec",
                                                        .programs = Programs::named,
                                                        .forbid = "workspace/tools/program",
                                                        .prepare = admin_movable_program}) {
  must(link(workspace(ctx, "tools/program").c_str(), workspace(ctx, "dir/other").c_str()), "link");
  run_and_take(ctx, {workspace(ctx, "dir/other"), "stamp"});
}

PROGRAM_ATTACK(denied_program_by_hard_link_on_tmpfs_is_refused, {.at = "exec",
                                                                 .programs = Programs::named,
                                                                 .ground = Ground::memory,
                                                                 .forbid = "workspace/tools/program",
                                                                 .prepare = admin_movable_program}) {
  must(link(workspace(ctx, "tools/program").c_str(), workspace(ctx, "dir/other").c_str()), "link");
  run_and_take(ctx, {workspace(ctx, "dir/other"), "stamp"});
}

PROGRAM_ATTACK(denied_program_by_symlink_is_refused,
               {.at = "exec", .programs = Programs::named, .prepare = admin_denied_program}) {
  must(symlink("../secret", workspace(ctx, "dir/link").c_str()), "symlink");
  run_and_take(ctx, {workspace(ctx, "dir/link/program"), "stamp"});
}

PROGRAM_ATTACK(denied_program_that_was_renamed_is_refused, {.at = "exec",
                                                            .programs = Programs::named,
                                                            .forbid = "workspace/tools/program",
                                                            .prepare = admin_movable_program}) {
  rename_to(workspace(ctx, "tools/program"), workspace(ctx, "dir/other"));
  run_and_take(ctx, {workspace(ctx, "dir/other"), "stamp"});
}

PROGRAM_ATTACK(denied_program_in_a_directory_that_was_renamed_is_refused, {.at = "exec",
                                                                           .programs = Programs::named,
                                                                           .forbid = "workspace/tools",
                                                                           .prepare = admin_movable_program}) {
  rename_to(workspace(ctx, "tools"), workspace(ctx, "dir/other"));
  run_and_take(ctx, {workspace(ctx, "dir/other/program"), "stamp"});
}

PROGRAM_ATTACK(denied_program_that_appears_later_is_refused,
               {.at = "exec", .programs = Programs::named, .meanwhile = [](const FileScene& s) {
                  admin_program(s, s("workspace/later"));
                }}) {
  ctx.join();
  run_and_take(ctx, {workspace(ctx, "later"), "stamp"});
}

PROGRAM_ATTACK(denied_program_that_was_replaced_is_refused, {.at = "exec",
                                                             .programs = Programs::named,
                                                             .forbid = "workspace/tools/program",
                                                             .prepare = admin_movable_program,
                                                             .meanwhile = [](const FileScene& s) {
                                                               admin_program(s, s("workspace/tools/fresh"));
                                                               admin_rename(s("workspace/tools/fresh"),
                                                                            s("workspace/tools/program"));
                                                             }}) {
  ctx.join();
  run_and_take(ctx, {workspace(ctx, "tools/program"), "stamp"});
}

// The administrator's bind mount of a denied directory, elsewhere.
PROGRAM_ATTACK(denied_program_by_bind_mount_is_refused,
               {.at = "exec", .programs = Programs::named, .prepare = [](const FileScene& s) {
                  admin_denied_program(s);
                  admin_bind(s("workspace/secret"), s("workspace/mnt"));
                }}) {
  run_and_take(ctx, {workspace(ctx, "mnt/program"), "stamp"});
}

PROGRAM_ATTACK(denied_program_by_dynamic_loader_is_refused,
               {.at = "loader", .programs = Programs::named, .prepare = admin_denied_program}) {
  run_and_take(ctx, {"/lib64/ld-linux-x86-64.so.2", workspace(ctx, "secret/program"), "stamp"});
}

// A filesystem that was not there when the policy was published could hold anything.
PROGRAM_ATTACK(own_bind_mount_beside_exec_rules_is_refused, {.at = "mount",
                                                             .expected = EPERM,
                                                             .programs = Programs::named,
                                                             .grant = Grant::none,
                                                             .prepare = admin_denied_program,
                                                             .root = true}) {
  must(mount(workspace(ctx, "secret").c_str(), workspace(ctx, "dir").c_str(), nullptr, MS_BIND, nullptr), "mount");
  run_and_take(ctx, {workspace(ctx, "dir/program"), "stamp"});
}

PROGRAM_ATTACK(own_user_namespace_beside_exec_rules_is_refused, {.at = "unshare",
                                                                 .expected = EPERM,
                                                                 .programs = Programs::named,
                                                                 .grant = Grant::none,
                                                                 .prepare = admin_denied_program}) {
  must(unshare(CLONE_NEWUSER), "unshare");
  run_and_take(ctx, {workspace(ctx, "secret/program"), "stamp"});
}
