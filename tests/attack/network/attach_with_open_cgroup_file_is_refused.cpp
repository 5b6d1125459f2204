// SPDX-License-Identifier: Apache-2.0
// cgroup.procs of another cgroup, opened for writing before: no hook sees the write. `sbpf attach` must look.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

constexpr const char* kCgroups = "/sys/fs/cgroup";

void in_own_mounts() {
  must(unshare(CLONE_NEWNS), "unshare");
  must(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "mount of /");
}

}  // namespace

ATTACK(attach_with_open_cgroup_file_is_refused, {.victim = Victim::other_cgroup,
                                                 .allow = kNever,
                                                 .launch = Launch::attach_refused,
                                                 .root = true,
                                                 .machine_wide = true}) {
  const Fd procs = open_file(ctx.text("other_cgroup") + "/cgroup.procs", O_WRONLY);
  ctx.join();
  write_text(procs, std::to_string(getpid()));
}

// By another mount of the hierarchy.
ATTACK(attach_with_open_cgroup_file_of_another_mount_is_refused, {.victim = Victim::other_cgroup,
                                                                  .allow = kNever,
                                                                  .launch = Launch::attach_refused,
                                                                  .root = true,
                                                                  .machine_wide = true}) {
  const std::string other = ctx.text("other_cgroup");
  in_own_mounts();
  must(mount("none", "/mnt", "cgroup2", 0, nullptr), "mount");
  const Fd procs = open_file("/mnt" + other.substr(std::string(kCgroups).size()) + "/cgroup.procs", O_WRONLY);
  ctx.join();
  write_text(procs, std::to_string(getpid()));
}

// Mounted over a file, it bears that file's name.
ATTACK(attach_with_open_cgroup_file_of_another_name_is_refused, {.victim = Victim::other_cgroup,
                                                                 .allow = kNever,
                                                                 .launch = Launch::attach_refused,
                                                                 .root = true,
                                                                 .machine_wide = true}) {
  in_own_mounts();
  must(mount("none", "/mnt", "tmpfs", 0, nullptr), "mount");
  close(must(open("/mnt/notes", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), "open"));
  must(mount((ctx.text("other_cgroup") + "/cgroup.procs").c_str(), "/mnt/notes", nullptr, MS_BIND, nullptr),
       "mount of the file");
  const Fd procs = open_file("/mnt/notes", O_WRONLY);
  ctx.join();
  write_text(procs, std::to_string(getpid()));
}

// A setting of the kernel's, likewise.
ATTACK(attach_with_open_control_file_is_refused, {.victim = Victim::net_sysctl,
                                                  .allow = kNever,
                                                  .launch = Launch::attach_refused,
                                                  .root = true,
                                                  .machine_wide = true}) {
  const Fd setting = open_file(ctx.text("sysctl"), O_WRONLY);
  ctx.join();
  write_text(setting, ctx.text("value"));
}

// Files of the kernel's other interfaces. By a mount that is gone: nothing says any more what it is of.
static constexpr const char* kSetting = "what it sets, all of the machine shares; it is written back as it was";

static void keep_setting(const Context& ctx, const char* type, const char* name, bool lost) {
  in_own_mounts();
  must(mount("none", "/mnt", type, 0, nullptr), "mount");
  const Fd setting = open_file(std::string("/mnt/") + name, O_RDWR);
  if (lost) must(umount2("/mnt", MNT_DETACH), "umount");
  ctx.join();
  char value[64];
  const auto size = must(pread(setting.get(), value, sizeof value, 0), "pread");
  must(pwrite(setting.get(), value, static_cast<std::size_t>(size), 0), "pwrite");
}

#define WITH_SETTING(attack_name, type, file, lost)                                                            \
  ATTACK(attack_name, {.allow = kNever, .launch = Launch::attach_refused, .root = true, .claims = kSetting}) { \
    keep_setting(ctx, type, file, lost);                                                                       \
  }

WITH_SETTING(attach_with_open_sysfs_file_is_refused, "sysfs", "kernel/rcu_expedited", false)
WITH_SETTING(attach_with_open_sysfs_file_of_lost_mount_is_refused, "sysfs", "kernel/rcu_expedited", true)
WITH_SETTING(attach_with_open_tracefs_file_is_refused, "tracefs", "tracing_on", false)
WITH_SETTING(attach_with_open_tracefs_file_of_lost_mount_is_refused, "tracefs", "tracing_on", true)
// No file that is known by its name.
WITH_SETTING(attach_with_open_cgroup_file_of_lost_mount_is_refused, "cgroup2", "cgroup.max.depth", true)

// What keeps files is no matter, by whatever mount.
ATTACK(attach_with_open_file_of_lost_mount_is_free,
       {.victim = Victim::bystander_memory, .launch = Launch::attach_inside_refused, .root = true, .harmless = true}) {
  in_own_mounts();
  must(mount("none", "/mnt", "ramfs", 0, nullptr), "mount");
  const Fd file = open_file("/mnt/notes", O_CREAT | O_RDWR),
           shared = open_file("/dev/shm/attack-" + std::to_string(getpid()), O_CREAT | O_RDWR);
  unlink(("/dev/shm/attack-" + std::to_string(getpid())).c_str());
  must(umount2("/mnt", MNT_DETACH), "umount");
  ctx.join();
  must(write(file.get(), "x", 1), "write");
}
