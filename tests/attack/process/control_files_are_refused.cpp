// SPDX-License-Identifier: Apache-2.0
// The kernel's own file systems, which are driven by more than writing: names that are made and removed, and modes by
// which somebody outside could write.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/lib/process_attack.h"

using namespace attack;

#define ON_CONTROL_FILES(name, step) PROCESS_ATTACK(name, {.at = step, .victim = Victim::control_files, .root = true})

ON_CONTROL_FILES(setting_of_configfs_is_refused, "open") {
  write_text(open_file(ctx.text("target") + "/remote_port", O_WRONLY), "7");
}
ON_CONTROL_FILES(new_object_of_configfs_is_refused, "mkdir") { must(mkdir(ctx.text("made").c_str(), 0755), "mkdir"); }
ON_CONTROL_FILES(removal_of_object_of_configfs_is_refused, "rmdir") {
  must(rmdir(ctx.text("target").c_str()), "rmdir");
}
ON_CONTROL_FILES(new_instance_of_tracing_is_refused, "mkdir") {
  must(mkdir(ctx.text("instance").c_str(), 0755), "mkdir");
}
ON_CONTROL_FILES(abort_of_fuse_mount_is_refused, "open") {
  write_text(open_file(ctx.text("connection") + "/abort", O_WRONLY), "1");
}
ON_CONTROL_FILES(mode_of_control_file_is_refused, "chmod") { must(chmod(ctx.text("setting").c_str(), 0666), "chmod"); }

PROCESS_ATTACK(mode_of_file_of_proc_is_refused,
               {.at = "chmod", .claims = "a mount of proc shows the mode that it read first", .root = true}) {
  must(chmod("/proc/sysrq-trigger", 0200), "chmod");
}

// Closing it frees the host's trace; it is opened for reading, which nobody may.
PROCESS_ATTACK(freeing_of_the_trace_is_refused,
               {.at = "open", .victim = Victim::attacker_file, .shows = "/free_buffer", .root = true}) {
  ctx.keep(open_file("/sys/kernel/tracing/free_buffer", O_RDONLY));
}

// The priority of the whole session, also of its processes outside.
PROCESS_ATTACK(autogroup_is_refused,
               {.at = "open", .victim = Victim::attacker_file, .shows = "/autogroup", .lacking = {{ENOENT}}}) {
  ctx.keep(open_file("/proc/self/autogroup", O_WRONLY));
}
