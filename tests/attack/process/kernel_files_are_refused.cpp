// SPDX-License-Identifier: Apache-2.0
// Files by which root drives the kernel, which then acts outside of every sandbox. Opening for writing is the harm,
// which others see of the attacker: what would be written is the same everywhere.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/lib/process_attack.h"

using namespace attack;

#define FILE_TO_WRITE(name, path)                                                                                  \
  PROCESS_ATTACK(                                                                                                  \
      name, {.at = "open", .victim = Victim::attacker_file, .shows = path, .root = true, .lacking = {{ENOENT}}}) { \
    ctx.keep(open_file(path, O_WRONLY));                                                                           \
  }

FILE_TO_WRITE(magic_key_is_refused, "/proc/sysrq-trigger")
FILE_TO_WRITE(module_loader_path_is_refused, "/proc/sys/kernel/modprobe")
FILE_TO_WRITE(hotplug_program_is_refused, "/sys/kernel/uevent_helper")
FILE_TO_WRITE(host_name_file_is_refused, "/proc/sys/kernel/hostname")
FILE_TO_WRITE(next_process_number_is_refused, "/proc/sys/kernel/ns_last_pid")
FILE_TO_WRITE(dropped_caches_are_refused, "/proc/sys/vm/drop_caches")
FILE_TO_WRITE(kernel_pointers_setting_is_refused, "/proc/sys/kernel/kptr_restrict")
FILE_TO_WRITE(power_state_is_refused, "/sys/power/state")
FILE_TO_WRITE(device_event_is_refused, "/sys/devices/virtual/mem/null/uevent")
FILE_TO_WRITE(kernel_probes_are_refused, "/sys/kernel/tracing/kprobe_events")
FILE_TO_WRITE(lockdown_of_the_kernel_is_refused, "/sys/kernel/security/lockdown")
FILE_TO_WRITE(debugging_files_are_refused, "/sys/kernel/debug/clear_warn_once")
FILE_TO_WRITE(huge_pages_setting_is_refused, "/sys/kernel/mm/transparent_hugepage/enabled")
FILE_TO_WRITE(interrupt_affinity_is_refused, "/proc/irq/default_smp_affinity")

// Devices of the whole machine, where no filesystem section says which may be used.
#define DEVICE_TO_OPEN(name, path, flags)                        \
  PROCESS_ATTACK(name, {.at = "open",                            \
                        .victim = Victim::attacker_file,         \
                        .shows = path,                           \
                        .root = true,                            \
                        .lacking = {{ENOENT, ENODEV, ENXIO}}}) { \
    ctx.keep(open_file(path, flags));                            \
  }

DEVICE_TO_OPEN(kernel_log_device_is_refused, "/dev/kmsg", O_WRONLY)
DEVICE_TO_OPEN(raw_disk_is_refused, "/dev/vda", O_WRONLY)
DEVICE_TO_OPEN(raw_disk_to_read_is_refused, "/dev/vda", O_RDONLY)
DEVICE_TO_OPEN(virtual_console_is_refused, "/dev/tty1", O_WRONLY | O_NOCTTY)
DEVICE_TO_OPEN(screen_of_virtual_console_is_refused, "/dev/vcs1", O_RDONLY)
DEVICE_TO_OPEN(console_is_refused, "/dev/console", O_WRONLY | O_NOCTTY)
DEVICE_TO_OPEN(latency_setting_is_refused, "/dev/cpu_dma_latency", O_WRONLY)
DEVICE_TO_OPEN(clock_device_is_refused, "/dev/rtc0", O_RDONLY)
DEVICE_TO_OPEN(serial_line_is_refused, "/dev/ttyS0", O_WRONLY | O_NOCTTY)

// By another node of the same number.
PROCESS_ATTACK(raw_disk_by_another_node_is_refused,
               {.at = "open", .victim = Victim::attacker_file, .shows = "/tmp/sbpf-attack-disk-", .root = true}) {
  struct stat disk {};
  must(stat("/dev/vda", &disk), "stat");
  const std::string node = "/tmp/sbpf-attack-disk-" + std::to_string(getpid());
  must(mknod(node.c_str(), S_IFBLK | 0600, disk.st_rdev), "mknod");
  const int fd = open(node.c_str(), O_RDWR | O_CLOEXEC);
  const int error = errno;
  unlink(node.c_str());
  errno = error;
  ctx.keep(Fd(must(fd, "open")));
}

// A cgroup of others: killed, frozen, joined by a thread, or its controllers changed. Nothing is in it.
#define CGROUP_FILE_TO_WRITE(name, file)                                                                           \
  PROCESS_ATTACK(                                                                                                  \
      name, {.at = "open", .victim = Victim::attacker_file, .shows = "/sbpf-attack-victim/" file, .root = true}) { \
    ctx.keep(open_file(ctx.text("cgroup_root") + "/sbpf-attack-victim/" + file, O_WRONLY));                        \
  }

CGROUP_FILE_TO_WRITE(kill_of_cgroup_is_refused, "cgroup.kill")
CGROUP_FILE_TO_WRITE(freeze_of_cgroup_is_refused, "cgroup.freeze")
CGROUP_FILE_TO_WRITE(threads_of_cgroup_are_refused, "cgroup.threads")
CGROUP_FILE_TO_WRITE(limits_of_cgroup_are_refused, "cgroup.max.descendants")

PROCESS_ATTACK(controllers_of_the_machine_are_refused,
               {.at = "open", .victim = Victim::attacker_file, .shows = "/cgroup.subtree_control", .root = true}) {
  ctx.keep(open_file(ctx.text("cgroup_root") + "/cgroup.subtree_control", O_WRONLY));
}
