// SPDX-License-Identifier: Apache-2.0
// What root may do to the machine, and no hook but `capable` sees. Each attack leaves things as they are, or puts them
// back.
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/fsuid.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <vector>

#include "tests/attack/lib/process_attack.h"

using namespace attack;

namespace {

constexpr const char* kBoot = "kernel: {dangerously_allow_capabilities: [SYS_BOOT]}";
constexpr const char* kIo = "kernel: {dangerously_allow_capabilities: [SYS_RAWIO]}";
constexpr const char* kNice = "kernel: {dangerously_allow_capabilities: [SYS_NICE]}";
constexpr const char* kResource = "kernel: {dangerously_allow_capabilities: [SYS_RESOURCE]}";
constexpr const char* kSyslog = "kernel: {dangerously_allow_capabilities: [SYSLOG]}";
constexpr const char* kTime = "kernel: {dangerously_allow_capabilities: [SYS_TIME]}";

constexpr const char* kPorts = "what it may do then are instructions of the processor, and no port is safe to write to";

#define ON_MACHINE(step, by) \
  { .at = step, .allow = by, .victim = Victim::machine, .root = true, .machine_wide = true }
#define TO_OPEN(path)                                                                                      \
  {                                                                                                        \
    .at = "open", .allow = kIo, .victim = Victim::attacker_file, .shows = path, .root = true, .lacking = { \
      {ENOENT, ENXIO}                                                                                      \
    }                                                                                                      \
  }

// A file of the attacker's on the disk of the machine; removed at the end.
struct Scratch {
  std::string path = "/var/tmp/sbpf-attack-" + std::to_string(getpid());
  Fd fd = open_file(path, O_CREAT | O_RDWR);
  ~Scratch() { unlink(path.c_str()); }
};

}  // namespace

PROCESS_ATTACK(clock_change_is_refused, ON_MACHINE("clock_settime", kTime)) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec += 7200;
  must(clock_settime(CLOCK_REALTIME, &now), "clock_settime");
}

PROCESS_ATTACK(clock_adjustment_is_refused, ON_MACHINE("adjtimex", kTime)) {
  timex current{};
  must(adjtimex(&current), "read");
  current.modes = ADJ_FREQUENCY;
  current.freq += 1 << 16;  // a millionth
  must(adjtimex(&current), "adjtimex");
}

PROCESS_ATTACK(time_zone_change_is_refused, ON_MACHINE("settimeofday", kTime)) {
  const struct timezone west = {60, 0};
  must(syscall(SYS_settimeofday, nullptr, &west), "settimeofday");
}

PROCESS_ATTACK(host_name_change_is_refused, ON_MACHINE("sethostname", kAdmin)) {
  must(sethostname("attacked", 8), "sethostname");
}

PROCESS_ATTACK(domain_name_change_is_refused, ON_MACHINE("setdomainname", kAdmin)) {
  must(setdomainname("attacked", 8), "setdomainname");
}

PROCESS_ATTACK(reboot_is_refused, ON_MACHINE("reboot", kBoot)) {
  must(syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_OFF, nullptr), "reboot");
}

PROCESS_ATTACK(kexec_is_refused, {.at = "kexec_load",
                                  .allow = kBoot,
                                  .claims = "no kernel is loaded that it could unload",
                                  .root = true,
                                  .machine_wide = true,
                                  .lacking = {{ENOSYS}}}) {
  must(syscall(SYS_kexec_load, 0, 0, nullptr, 0), "kexec_load");
}

PROCESS_ATTACK(swap_is_refused, ON_MACHINE("swapon", kAdmin)) {
  const Fd file = open_file(ctx.text("swap"), O_CREAT | O_RDWR);
  std::vector<char> page(4096);
  const std::uint32_t version = 1, last_page = 9;
  std::memcpy(&page[1024], &version, sizeof version);
  std::memcpy(&page[1028], &last_page, sizeof last_page);
  std::memcpy(&page[4086], "SWAPSPACE2", 10);
  must(write(file.get(), page.data(), page.size()), "write");
  std::fill(page.begin(), page.end(), 0);
  for (int i = 0; i < 9; i++) must(write(file.get(), page.data(), page.size()), "write");
  must(fsync(file.get()), "fsync");
  must(swapon(ctx.text("swap").c_str(), 0), "swapon");
}

PROCESS_ATTACK(process_accounting_is_refused, {.at = "acct",
                                               .allow = "kernel: {dangerously_allow_capabilities: [SYS_PACCT]}",
                                               .victim = Victim::machine,
                                               .root = true,
                                               .machine_wide = true,
                                               .lacking = {{ENOSYS}}}) {
  const std::string& file = ctx.text("accounting");
  open_file(file, O_CREAT | O_RDWR);
  must(acct(file.c_str()), "acct");
}

PROCESS_ATTACK(kernel_log_by_syslog_is_refused,
               {.at = "syslog", .allow = kSyslog, .victim = Victim::kernel_log, .root = true, .machine_wide = true}) {
  char text[256];
  ctx.loot({text, static_cast<std::size_t>(must(klogctl(3, text, sizeof text), "syslog"))});
}

PROCESS_ATTACK(kernel_log_by_device_is_refused, {.at = "open",
                                                 .allow = kSyslog,
                                                 .victim = Victim::kernel_log,
                                                 .root = true,
                                                 .machine_wide = true,
                                                 .lacking = {{ENOENT}}}) {
  const Fd log = open_file("/dev/kmsg", O_RDONLY | O_NONBLOCK);
  char record[8192];
  ssize_t last = 0;
  for (ssize_t got; (got = read(log.get(), record, sizeof record)) > 0 || errno == EPIPE;)
    last = std::max<ssize_t>(got, 0);
  ctx.loot({record, static_cast<std::size_t>(last)});
}

PROCESS_ATTACK(console_log_level_is_refused, ON_MACHINE("syslog", kSyslog)) { must(klogctl(8, nullptr, 6), "syslog"); }

#if defined(__x86_64__)
PROCESS_ATTACK(input_output_ports_are_refused, {.at = "ioperm", .allow = kIo, .claims = kPorts, .root = true}) {
  must(ioperm(0x80, 1, 1), "ioperm");
}

PROCESS_ATTACK(input_output_privilege_is_refused, {.at = "iopl", .allow = kIo, .claims = kPorts, .root = true}) {
  must(iopl(3), "iopl");
}
#endif

PROCESS_ATTACK(physical_memory_is_refused, TO_OPEN("/dev/mem")) { ctx.keep(open_file("/dev/mem", O_RDONLY)); }

PROCESS_ATTACK(port_device_is_refused, TO_OPEN("/dev/port")) { ctx.keep(open_file("/dev/port", O_RDONLY)); }

PROCESS_ATTACK(kernel_memory_is_refused, TO_OPEN("/proc/kcore")) { ctx.keep(open_file("/proc/kcore", O_RDONLY)); }

// Out of a mount namespace or chroot by the number of an inode ("shocker").
PROCESS_ATTACK(file_by_handle_is_refused, {.at = "open_by_handle_at",
                                           .allow = "kernel: {dangerously_allow_capabilities: [DAC_READ_SEARCH]}",
                                           .claims = "the file is its own, and open already",
                                           .root = true,
                                           .lacking = {{EOPNOTSUPP}}}) {
  const Scratch file;
  struct {
    file_handle header;
    char bytes[MAX_HANDLE_SZ];
  } handle{};
  int mount = 0;
  handle.header.handle_bytes = MAX_HANDLE_SZ;
  must(name_to_handle_at(AT_FDCWD, file.path.c_str(), &handle.header, &mount, 0), "name_to_handle_at");
  const Fd directory = open_file("/var/tmp", O_RDONLY | O_DIRECTORY);
  const Fd opened(must(open_by_handle_at(directory.get(), &handle.header, O_RDONLY), "open_by_handle_at"));
}

PROCESS_ATTACK(immutable_file_is_refused, {.at = "ioctl",
                                           .allow = "kernel: {dangerously_allow_capabilities: [LINUX_IMMUTABLE]}",
                                           .claims = "it is undone at once, or nobody could remove the file",
                                           .root = true}) {
  const Scratch file;
  int flags = 0;
  must(ioctl(file.fd.get(), FS_IOC_GETFLAGS, &flags), "get flags");
  const int before = flags;
  flags |= FS_IMMUTABLE_FL;
  must(ioctl(file.fd.get(), FS_IOC_SETFLAGS, &flags), "ioctl");
  must(ioctl(file.fd.get(), FS_IOC_SETFLAGS, &before), "undo");
}

PROCESS_ATTACK(trusted_attribute_is_refused,
               {.at = "setxattr", .allow = kAdmin, .claims = "the file is its own, and removed", .root = true}) {
  const Scratch file;
  must(fsetxattr(file.fd.get(), "trusted.sbpf", "x", 1, 0), "setxattr");
}

PROCESS_ATTACK(
    higher_priority_is_refused,
    {.at = "setpriority", .expected = EACCES, .allow = kNice, .victim = Victim::attacker_settings, .root = true}) {
  must(setpriority(PRIO_PROCESS, 0, -5), "setpriority");
}

PROCESS_ATTACK(realtime_scheduling_is_refused,
               {.at = "sched_setscheduler", .allow = kNice, .victim = Victim::attacker_settings, .root = true}) {
  sched_param parameter{};
  parameter.sched_priority = 1;
  must(sched_setscheduler(0, SCHED_FIFO, &parameter), "sched_setscheduler");
}

PROCESS_ATTACK(realtime_io_is_refused,
               {.at = "ioprio_set", .allow = kAudit, .victim = Victim::attacker_settings, .root = true}) {
  must(syscall(SYS_ioprio_set, 1, 0, 1 << 13), "ioprio_set");
}

PROCESS_ATTACK(higher_limit_is_refused,
               {.at = "setrlimit", .allow = kResource, .victim = Victim::attacker_settings, .root = true}) {
  rlimit limit{};
  getrlimit(RLIMIT_MSGQUEUE, &limit);
  limit.rlim_max += 4096;
  must(setrlimit(RLIMIT_MSGQUEUE, &limit), "setrlimit");
}

PROCESS_ATTACK(larger_pipe_is_refused,
               {.at = "fcntl", .allow = kResource, .claims = "the pipe is its own", .root = true}) {
  int ends[2];
  must(pipe2(ends, O_CLOEXEC), "pipe");
  const Fd in(ends[0]), out(ends[1]);
  must(fcntl(out.get(), F_SETPIPE_SZ, 4 << 20), "fcntl");
}

PROCESS_ATTACK(
    protection_from_memory_shortage_is_refused,
    {.at = "write", .expected = EACCES, .allow = kResource, .victim = Victim::attacker_settings, .root = true}) {
  write_text(open_file("/proc/self/oom_score_adj", O_WRONLY), "-900");
}

PROCESS_ATTACK(chosen_process_number_is_refused,
               {.at = "clone3",
                .allow = "kernel: {dangerously_allow_capabilities: [CHECKPOINT_RESTORE]}",
                .claims = "the process has ended when it is known whether there is such a number",
                .root = true}) {
  const pid_t wanted = 4000000;
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
  arguments.set_tid_size = 1;
  pid_t chosen = wanted;
  for (int i = 0; i < 40 && chosen > 1000; i++) {  // pid_max is smaller on small machines
    const auto child = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
    if (child == 0) _exit(0);
    if (child > 0) {
      waitpid(child, nullptr, 0);
      return;
    }
    if (errno != EINVAL) throw Failure{errno, "clone3"};
    chosen /= 2;
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&chosen);
  }
  throw Failure{EINVAL, "no number"};
}

PROCESS_ATTACK(wake_of_the_machine_is_refused, {.at = "timerfd_create",
                                                .allow = "kernel: {dangerously_allow_capabilities: [WAKE_ALARM]}",
                                                .victim = Victim::attacker_file,
                                                .shows = "anon_inode:[timerfd]",
                                                .root = true,
                                                .lacking = {{EOPNOTSUPP}}}) {
  ctx.keep(Fd(must(timerfd_create(CLOCK_BOOTTIME_ALARM, TFD_CLOEXEC), "timerfd_create")));
}

PROCESS_ATTACK(hangup_of_terminal_is_refused, {.at = "vhangup",
                                               .allow = "kernel: {dangerously_allow_capabilities: [SYS_TTY_CONFIG]}",
                                               .claims = "it has no terminal that could be hung up",
                                               .root = true}) {
  must(syscall(SYS_vhangup), "vhangup");
}

PROCESS_ATTACK(decisions_on_others_opens_are_refused, {.at = "fanotify_init",
                                                       .allow = kAdmin,
                                                       .victim = Victim::attacker_file,
                                                       .shows = "anon_inode:[fanotify]",
                                                       .root = true}) {
  ctx.keep(Fd(must(fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY), "fanotify_init")));
}

// access(2) asks with credentials that the kernel lends it, if those of the process are not the same for files.
PROCESS_ATTACK(look_below_root_of_child_with_lent_credentials_is_refused,
               {.at = "access",
                .expected = EACCES,
                .or_expected = ENOENT,
                .allow = "kernel: {dangerously_allow_capabilities: [SYS_PTRACE]}",
                .claims = "whether a file is there is all that it learns",
                .root = true}) {
  int ready[2];
  must(pipe2(ready, O_CLOEXEC), "pipe");
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    const bool other = setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0;
    if (other && write(ready[1], "y", 1) == 1) pause();
    _exit(1);
  }
  close(ready[1]);
  char yes = 0;
  const bool other = read(ready[0], &yes, 1) == 1;
  setfsgid(65534);
  const int found = access(("/proc/" + std::to_string(child) + "/root/etc/passwd").c_str(), F_OK), error = errno;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (!other) throw Failure{EPERM, "setresuid"};
  if (found != 0) throw Failure{error, "access"};
}
