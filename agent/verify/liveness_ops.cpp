// SPDX-License-Identifier: Apache-2.0
// What a sentinel does to call each hook. Nothing of it changes anything: not the kernel, and not a file.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>

#include "agent/verify/canary_ops.h"
#include "agent/verify/liveness.h"

namespace sbpf::agent::sentinel {
namespace {

using canary::result;

struct Hands {
  int memory, lonely,
      pair[2];  // a file in memory; AF_UNIX datagram sockets: one of its own, and two that are connected
  pid_t caller;
  std::uint32_t prog_id;
};

constexpr unsigned kMfdExec = 0x10;  // newer than Debian 12's headers
constexpr std::uint32_t kAcl = 2;    // a POSIX ACL of this version, with no entries
constexpr int kIoprioWhoProcess = 1;

// At these paths the kernel gets past the hook, and fails then.
constexpr const char* kDirectory = "/proc/tty";
constexpr const char* kFile = "/proc/version";
constexpr const char* kNothing = "/sys/sbpf-alive";  // no entry is made in sysfs

int connect_stream(const Hands&) {
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  // The kernel chooses a name.
  if (::bind(listener.get(), any, sizeof address.sun_family) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), any, &size) != 0)
    return EBADF;
  return result(::connect(client.get(), any, size));
}

// As the second process of this number, which there cannot be: the kernel finds out after the hook.
int be_born(const Hands&) {
  pid_t taken = 1;
  clone_args args{};
  args.flags = CLONE_VM | CLONE_FS | CLONE_FILES;
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<std::uint64_t>(&taken);
  args.set_tid_size = 1;
  return result(::syscall(SYS_clone3, &args, sizeof args));
}

int read_caller(const Hands& hands) {
  char byte = 0;
  iovec here{&byte, 1}, there{nullptr, 1};
  return result(::process_vm_readv(hands.caller, &here, 1, &there, 1, 0));
}

int bpf_call(int command, bpf_attr& attr) {
  return result(Fd(static_cast<int>(::syscall(SYS_bpf, command, &attr, sizeof attr))).get());
}

int open_map(const Hands&) {
  bpf_attr attr{};
  attr.pathname = reinterpret_cast<std::uintptr_t>("/sys/fs/bpf/sbpf/maps/globals");
  return bpf_call(BPF_OBJ_GET, attr);
}

int open_program(const Hands& hands) {
  bpf_attr attr{};
  attr.prog_id = hands.prog_id;
  return bpf_call(BPF_PROG_GET_FD_BY_ID, attr);
}

int unknown_command(const Hands&) {
  bpf_attr attr{};
  constexpr int kNone = 9999;
  return bpf_call(kNone, attr);
}

int map_memory(const Hands& hands, int also) {
  void* memory = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, hands.memory, 0);
  if (memory == MAP_FAILED) return errno;
  const int error = also == 0 ? 0 : result(::mprotect(memory, 1, PROT_READ | also));
  ::munmap(memory, 1);
  return error;
}

// Not a program.
int execute(const Hands& hands) {
  char name[] = "sbpf";
  char* const argv[] = {name, nullptr};
  char* const none[] = {nullptr};
  return result(::syscall(SYS_execveat, hands.memory, "", argv, none, AT_EMPTY_PATH));
}

// More often than any kernel samples.
int sample(const Hands&) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.freq = 1;
  attr.sample_freq = ~0ULL;
  attr.exclude_kernel = 1;
  return result(Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC))).get());
}

int same_limit(const Hands&) {
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  return result(::setrlimit(RLIMIT_CORE, &limit));
}

// Another one than the watch's would keep it waiting on a busy host.
int same_scheduler(const Hands&) {
  sched_param parameter{};
  (void)::sched_getparam(0, &parameter);
  return result(::sched_setscheduler(0, ::sched_getscheduler(0), &parameter));
}

int truncate_path(const Hands& hands) {
  char path[] = "/proc/self/fd/000";
  for (int i = 0, left = hands.memory; i < 3; i++, left /= 10)
    path[sizeof path - 2 - i] = static_cast<char>('0' + left % 10);
  if (hands.memory < 100) return kNotTried;  // of another spelling: it is put at a higher number below
  return result(::truncate(path, 4));
}

struct Operation {
  sbpf_hook hook;
  int passed[3];  // what the kernel says once it is past the hook; unused ones repeat the first
  int (*call)(const Hands&);
};

// In the order in which they are called; what cannot be undone by this process, last.
constexpr Operation kOperations[] = {
    {SBPF_HOOK_socket_create,
     {0, 0, 0},
     [](const Hands&) { return result(Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)).get()); }},
    {SBPF_HOOK_socket_connect,
     {0, 0, 0},
     [](const Hands& h) {
       const sockaddr none{AF_UNSPEC, {}};
       return result(::connect(h.lonely, &none, sizeof none));
     }},
    {SBPF_HOOK_socket_sendmsg,
     {ENOTCONN, ENOTCONN, ENOTCONN},
     [](const Hands& h) { return result(::send(h.lonely, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL)); }},
    {SBPF_HOOK_socket_bind,
     {EINVAL, EINVAL, EINVAL},
     [](const Hands& h) {
       const sockaddr other{AF_INET, {}};
       return result(::bind(h.lonely, &other, sizeof other));
     }},
    {SBPF_HOOK_socket_listen,
     {EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP},
     [](const Hands& h) { return result(::listen(h.lonely, 1)); }},
    {SBPF_HOOK_socket_setsockopt,
     {ENOPROTOOPT, ENOPROTOOPT, ENOPROTOOPT},
     [](const Hands& h) {
       const int on = 1;
       return result(::setsockopt(h.lonely, SOL_SOCKET, canary::kNoOption, &on, sizeof on));
     }},
    {SBPF_HOOK_unix_stream_connect, {0, 0, 0}, connect_stream},
    {SBPF_HOOK_unix_may_send,
     {0, 0, 0},
     [](const Hands& h) { return result(::send(h.pair[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL)); }},
    {SBPF_HOOK_file_receive, {0, 0, 0}, [](const Hands& h) { return canary::try_receive(h.memory); }},
    {SBPF_HOOK_task_alloc, {EEXIST, EEXIST, EEXIST}, be_born},
    {SBPF_HOOK_file_open,
     {0, 0, 0},
     [](const Hands&) { return result(Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get()); }},
    {SBPF_HOOK_capable,
     {EINVAL, EINVAL, EINVAL},
     [](const Hands&) { return result(::prctl(PR_CAPBSET_DROP, 9999, 0, 0, 0)); }},
    {SBPF_HOOK_bpf, {EINVAL, EINVAL, EINVAL}, unknown_command},
    {SBPF_HOOK_bpf_map, {0, 0, 0}, open_map},
    {SBPF_HOOK_bpf_prog, {0, 0, 0}, open_program},
    {SBPF_HOOK_path_unlink, {EISDIR, EISDIR, EISDIR}, [](const Hands&) { return result(::unlink(kDirectory)); }},
    {SBPF_HOOK_path_rename, {0, 0, 0}, [](const Hands&) { return result(::rename(kDirectory, kDirectory)); }},
    {SBPF_HOOK_path_rmdir, {ENOTDIR, ENOTDIR, ENOTDIR}, [](const Hands&) { return result(::rmdir(kFile)); }},
    {SBPF_HOOK_sb_mount,
     {EINVAL, EINVAL, EINVAL},
     [](const Hands&) { return result(::mount(nullptr, "/", nullptr, MS_SHARED | MS_PRIVATE, nullptr)); }},
    {SBPF_HOOK_move_mount,
     {EINVAL, EINVAL, EINVAL},
     [](const Hands&) { return result(::syscall(SYS_move_mount, AT_FDCWD, kDirectory, AT_FDCWD, kDirectory, 0)); }},
    {SBPF_HOOK_sb_umount,
     {EINVAL, EINVAL, EINVAL},
     [](const Hands&) { return result(::umount2("/proc", MNT_EXPIRE | MNT_DETACH)); }},
    {SBPF_HOOK_sb_pivotroot,
     {EINVAL, EINVAL, EINVAL},
     [](const Hands&) { return result(::syscall(SYS_pivot_root, kDirectory, kDirectory)); }},
    {SBPF_HOOK_task_kill, {0, 0, 0}, [](const Hands& h) { return result(::kill(h.caller, 0)); }},
    {SBPF_HOOK_ptrace_access_check, {EFAULT, 0, EFAULT}, read_caller},
    // Of these four a kernel that does not call the hook says the same as one that does: only the count tells.
    {SBPF_HOOK_path_mkdir, {0, 0, 0}, [](const Hands&) { return result(::mkdir(kNothing, 0700)); }},
    {SBPF_HOOK_path_mknod, {0, 0, 0}, [](const Hands&) { return result(::mkfifo(kNothing, 0600)); }},
    {SBPF_HOOK_path_symlink, {0, 0, 0}, [](const Hands&) { return result(::symlink("none", kNothing)); }},
    {SBPF_HOOK_path_link, {0, 0, 0}, [](const Hands&) { return result(::link("/sys/kernel", kNothing)); }},
    {SBPF_HOOK_path_truncate, {0, 0, 0}, truncate_path},
    {SBPF_HOOK_file_truncate, {0, 0, 0}, [](const Hands& h) { return result(::ftruncate(h.memory, 4)); }},
    {SBPF_HOOK_path_chmod, {0, 0, 0}, [](const Hands& h) { return result(::fchmod(h.memory, 0700)); }},
    {SBPF_HOOK_path_chown, {0, 0, 0}, [](const Hands& h) { return result(::fchown(h.memory, 0, 0)); }},
    {SBPF_HOOK_inode_setattr, {0, 0, 0}, [](const Hands& h) { return result(::futimens(h.memory, nullptr)); }},
    {SBPF_HOOK_inode_setxattr,
     {0, EOPNOTSUPP, 0},
     [](const Hands& h) {
       return result(static_cast<long>(::syscall(SYS_fsetxattr, h.memory, "user.sbpf", "", 0, 0)));
     }},
    {SBPF_HOOK_inode_getxattr,
     {0, EOPNOTSUPP, ENODATA},
     [](const Hands& h) {
       return result(static_cast<long>(::syscall(SYS_fgetxattr, h.memory, "user.sbpf", nullptr, 0)));
     }},
    {SBPF_HOOK_inode_removexattr,
     {0, EOPNOTSUPP, ENODATA},
     [](const Hands& h) { return result(static_cast<long>(::syscall(SYS_fremovexattr, h.memory, "user.sbpf"))); }},
    {SBPF_HOOK_inode_set_acl,
     {0, EOPNOTSUPP, 0},
     [](const Hands& h) {
       return result(
           static_cast<long>(::syscall(SYS_fsetxattr, h.memory, "system.posix_acl_access", &kAcl, sizeof kAcl, 0)));
     }},
    {SBPF_HOOK_inode_remove_acl,
     {0, EOPNOTSUPP, ENODATA},
     [](const Hands& h) {
       return result(static_cast<long>(::syscall(SYS_fremovexattr, h.memory, "system.posix_acl_access")));
     }},
    {SBPF_HOOK_inode_readlink,
     {0, 0, 0},
     [](const Hands&) {
       char target = 0;
       return result(::readlink("/proc/self", &target, 1));
     }},
    {SBPF_HOOK_file_ioctl,
     {ENOTTY, ENOTTY, ENOTTY},
     [](const Hands& h) {
       termios modes{};
       return result(::ioctl(h.memory, TCGETS, &modes));
     }},
    {SBPF_HOOK_file_fcntl, {0, 0, 0}, [](const Hands& h) { return result(::fcntl(h.memory, F_GETFD)); }},
    {SBPF_HOOK_mmap_file, {0, 0, 0}, [](const Hands& h) { return map_memory(h, 0); }},
    {SBPF_HOOK_file_mprotect, {0, 0, 0}, [](const Hands& h) { return map_memory(h, PROT_EXEC); }},
    {SBPF_HOOK_bprm_check_security, {ENOEXEC, ENOEXEC, ENOEXEC}, execute},
    {SBPF_HOOK_perf_event_open, {EINVAL, EINVAL, EINVAL}, sample},
    {SBPF_HOOK_inode_init_security_anon,
     {0, 0, 0},
     [](const Hands&) {
       return result(Fd(static_cast<int>(::syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC))).get());
     }},
    {SBPF_HOOK_task_setnice,
     {0, 0, 0},
     [](const Hands&) { return result(::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0))); }},
    {SBPF_HOOK_task_setioprio,
     {0, 0, 0},
     [](const Hands&) { return result(::syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, 0)); }},
    {SBPF_HOOK_task_setscheduler, {0, 0, 0}, same_scheduler},
    {SBPF_HOOK_task_setrlimit, {0, 0, 0}, same_limit},
    // A traced process is no agent any more.
    {SBPF_HOOK_ptrace_traceme,
     {0, 0, 0},
     [](const Hands&) { return result(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }},
};

const Operation* operation(sbpf_hook hook) {
  for (const Operation& one : kOperations)
    if (one.hook == hook) return &one;
  return nullptr;
}

}  // namespace

bool calls(sbpf_hook hook) { return operation(hook) != nullptr; }

bool passed(sbpf_hook hook, int error) {
  const Operation* one = operation(hook);
  return one != nullptr && std::ranges::find(one->passed, error) != std::end(one->passed);
}

void call_all(Report& report, pid_t caller, std::uint32_t prog_id) {
  Hands hands{-1, ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), {-1, -1}, caller, prog_id};
  int memory = static_cast<int>(::syscall(SYS_memfd_create, "sbpf-alive", MFD_CLOEXEC | kMfdExec));
  if (memory < 0 && errno == EINVAL) memory = static_cast<int>(::syscall(SYS_memfd_create, "sbpf-alive", MFD_CLOEXEC));
  hands.memory = memory < 0 ? -1 : ::fcntl(memory, F_DUPFD_CLOEXEC, 100);  // a number of three digits
  (void)!::write(hands.memory, "sbpf", 4);
  (void)::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, hands.pair);
  for (const Operation& one : kOperations) report.error[one.hook] = one.call(hands);
}

}  // namespace sbpf::agent::sentinel
