// SPDX-License-Identifier: Apache-2.0
// New namespaces, and those of others: the ground of most published escapes.
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/attack/lib/process_attack.h"

using namespace attack;

namespace {

constexpr const char* kUserNamespaces = "kernel: {allow: [user_namespaces]}";

constexpr const char* kEnded = "the child that has it has ended when the system call is known to have passed";

// The child only has to be born.
void clone_with(unsigned long long flags) {
  const auto child = static_cast<pid_t>(must(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0), "clone"));
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
}

void clone3_with(unsigned long long flags) {
  clone_args arguments{};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  const auto child = static_cast<pid_t>(must(syscall(SYS_clone3, &arguments, sizeof arguments), "clone3"));
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
}

}  // namespace

PROCESS_ATTACK(user_namespace_by_unshare_is_refused,
               {.at = "unshare", .allow = kUserNamespaces, .victim = Victim::attacker_namespace, .shows = "user"}) {
  must(unshare(CLONE_NEWUSER), "unshare");
}

PROCESS_ATTACK(user_namespace_by_clone_is_refused, {.at = "clone", .allow = kUserNamespaces, .claims = kEnded}) {
  clone_with(CLONE_NEWUSER);
}

PROCESS_ATTACK(user_namespace_by_clone3_is_refused, {.at = "clone3", .allow = kUserNamespaces, .claims = kEnded}) {
  clone3_with(CLONE_NEWUSER);
}

PROCESS_ATTACK(user_namespace_and_mount_is_refused,
               {.at = "unshare", .allow = kUserNamespaces, .victim = Victim::attacker_namespace, .shows = "user"}) {
  must(unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare");
  must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make private");
  must(mount("none", "/tmp", "tmpfs", 0, nullptr), "mount");
}

PROCESS_ATTACK(user_and_network_namespace_is_refused,
               {.at = "unshare", .allow = kUserNamespaces, .victim = Victim::attacker_namespace, .shows = "net"}) {
  must(unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
}

PROCESS_ATTACK(mount_namespace_by_root_is_refused,
               {.at = "unshare", .allow = kAdmin, .claims = "a sandbox has one of its own anyway", .root = true}) {
  must(unshare(CLONE_NEWNS), "unshare");
}

PROCESS_ATTACK(pid_namespace_by_root_is_refused, {.at = "clone", .allow = kAdmin, .claims = kEnded, .root = true}) {
  clone_with(CLONE_NEWPID);
}

PROCESS_ATTACK(ipc_and_host_name_namespaces_by_root_are_refused,
               {.at = "unshare", .allow = kAdmin, .victim = Victim::attacker_namespace, .shows = "uts", .root = true}) {
  must(unshare(CLONE_NEWIPC | CLONE_NEWUTS), "unshare");
}

PROCESS_ATTACK(
    cgroup_namespace_by_root_is_refused,
    {.at = "unshare", .allow = kAdmin, .victim = Victim::attacker_namespace, .shows = "cgroup", .root = true}) {
  must(unshare(CLONE_NEWCGROUP), "unshare");
}

PROCESS_ATTACK(network_namespace_by_root_is_refused,
               {.at = "unshare", .allow = kAdmin, .victim = Victim::attacker_namespace, .shows = "net", .root = true}) {
  must(unshare(CLONE_NEWNET), "unshare");
}

PROCESS_ATTACK(time_namespace_by_root_is_refused, {.at = "unshare",
                                                   .allow = kAdmin,
                                                   .victim = Victim::attacker_namespace,
                                                   .shows = "time_for_children",
                                                   .root = true}) {
  must(unshare(0x80 /* CLONE_NEWTIME */), "unshare");
}

// Of a namespace file that was open before: setns alone.
PROCESS_ATTACK(namespace_by_old_descriptor_is_refused, {.at = "setns",
                                                        .allow = kAdmin,
                                                        .claims = "it enters the one that it is in",
                                                        .launch = Launch::attach,
                                                        .root = true}) {
  const Fd own = open_file("/proc/self/ns/uts", O_RDONLY);
  ctx.join();
  must(setns(own.get(), CLONE_NEWUTS), "setns");
}

PROCESS_ATTACK(namespaces_by_pidfd_are_refused, {.at = "setns", .victim = Victim::bystander_namespaces, .root = true}) {
  const Fd other(static_cast<int>(must(syscall(SYS_pidfd_open, ctx.number("bystander"), 0), "pidfd_open")));
  must(setns(other.get(), CLONE_NEWUTS | CLONE_NEWIPC), "setns");
}

PROCESS_ATTACK(namespaces_by_pidfd_in_another_sandbox_are_refused,
               {.at = "setns", .deny = kAdmin, .victim = Victim::bystander_namespaces, .boxed = true, .root = true}) {
  const Fd other(static_cast<int>(must(syscall(SYS_pidfd_open, ctx.number("bystander"), 0), "pidfd_open")));
  must(setns(other.get(), CLONE_NEWUTS | CLONE_NEWIPC), "setns");
}

PROCESS_ATTACK(mount_by_root_is_refused, {.at = "mount",
                                          .allow = kAdmin,
                                          .claims = "it is unmounted at once, as the control mounts it on the host",
                                          .root = true}) {
  must(mount("none", "/mnt", "tmpfs", 0, nullptr), "mount");
  must(umount2("/mnt", MNT_DETACH), "umount");
}

PROCESS_ATTACK(mount_by_context_is_refused, {.at = "fsopen",
                                             .allow = kAdmin,
                                             .victim = Victim::attacker_file,
                                             .shows = "anon_inode:[fscontext]",
                                             .root = true}) {
  ctx.keep(Fd(static_cast<int>(must(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), "fsopen"))));
}

PROCESS_ATTACK(clone_of_mount_is_refused, {.at = "open_tree",
                                           .allow = kAdmin,
                                           .claims = "its name is that of the mount which it is a copy of",
                                           .root = true}) {
  const Fd tree(static_cast<int>(
      must(syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE), "open_tree")));
}
