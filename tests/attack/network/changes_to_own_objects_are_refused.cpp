// SPDX-License-Identifier: Apache-2.0
// What changes a pin or a cgroup without opening, moving or removing it: another name for it, its owner, mode, times,
// attributes, and entries beside it. A pin with another name outlives who unlinks the first.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

constexpr const char* kBeside = "-beside";
constexpr const char* kUndone = "what it makes is removed at once, so that each run finds the same";

#define ON_PIN(step) \
  { .allow = kAudit, .at = step, .root = true, .machine_wide = true, .claims = kUndone }

std::string pins() { return "/sys/fs/bpf/sbpf-attack-of-" + std::to_string(getpid()); }

std::string cgroup_of_host(const Context& ctx) { return ctx.text("cgroup_root") + "/"; }

}  // namespace

ATTACK(bpf_pin_link_is_refused,
       {.victim = Victim::bpf_pin, .allow = kAudit, .at = "link", .root = true, .machine_wide = true}) {
  const std::string beside = ctx.text("pin") + kBeside;
  must(link(ctx.text("pin").c_str(), beside.c_str()), "link");
  must(unlink(beside.c_str()), "unlink");
  must(unlink(ctx.text("pin").c_str()), "unlink");
}

ATTACK(bpf_pin_mode_is_refused,
       {.victim = Victim::bpf_pin, .allow = kAudit, .at = "chmod", .root = true, .machine_wide = true}) {
  must(chmod(ctx.text("pin").c_str(), 0666), "chmod");
  must(unlink(ctx.text("pin").c_str()), "unlink");
}

ATTACK(bpf_pin_owner_is_refused,
       {.victim = Victim::bpf_pin, .allow = kAudit, .at = "chown", .root = true, .machine_wide = true}) {
  must(chown(ctx.text("pin").c_str(), 1000, 1000), "chown");
  must(unlink(ctx.text("pin").c_str()), "unlink");
}

ATTACK(bpf_pin_times_are_refused,
       {.victim = Victim::bpf_pin, .allow = kAudit, .at = "utimensat", .root = true, .machine_wide = true}) {
  must(utimensat(AT_FDCWD, ctx.text("pin").c_str(), nullptr, 0), "utimensat");
  must(unlink(ctx.text("pin").c_str()), "unlink");
}

ATTACK(bpf_directory_is_refused, ON_PIN("mkdir")) {
  must(mkdir(pins().c_str(), 0700), "mkdir");
  rmdir(pins().c_str());
}

ATTACK(bpf_symlink_is_refused, ON_PIN("symlink")) {
  must(symlink("/sys/fs/bpf", pins().c_str()), "symlink");
  unlink(pins().c_str());
}

ATTACK(cgroup_directory_is_refused, ON_PIN("mkdir")) {
  const std::string directory = own_cgroup(ctx) + "/sbpf-attack-nested";
  must(mkdir(directory.c_str(), 0755), "mkdir");
  rmdir(directory.c_str());
}

ATTACK(cgroup_owner_is_refused, ON_PIN("chown")) { must(chown(cgroup_of_host(ctx).c_str(), 0, 0), "chown"); }

ATTACK(cgroup_mode_is_refused, ON_PIN("chmod")) {
  must(chmod((cgroup_of_host(ctx) + "cgroup.procs").c_str(), 0644), "chmod");
}

ATTACK(cgroup_attribute_is_refused, ON_PIN("setxattr")) {
  must(setxattr(cgroup_of_host(ctx).c_str(), "user.sbpf-attack", "x", 1, 0), "setxattr");
  removexattr(cgroup_of_host(ctx).c_str(), "user.sbpf-attack");
}

ATTACK(cgroup_attribute_removal_is_refused, ON_PIN("removexattr")) {
  if (!ctx.denied) must(setxattr(cgroup_of_host(ctx).c_str(), "user.sbpf-attack", "x", 1, 0), "setxattr");
  must(removexattr(cgroup_of_host(ctx).c_str(), "user.sbpf-attack"), "removexattr");
}
