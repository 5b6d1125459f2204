// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/canary_ops.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

namespace sbpf::agent::canary {
namespace {

int try_fork() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  if (pid < 0) return errno;
  ::waitpid(pid, nullptr, 0);
  return 0;
}

int try_map() {
  bpf_attr attr{};
  attr.map_type = BPF_MAP_TYPE_ARRAY;
  attr.key_size = attr.value_size = sizeof(std::uint32_t);
  attr.max_entries = 1;
  return result(Fd(static_cast<int>(::syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr))).get());
}

int try_program() {
  const bpf_insn nothing[] = {{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  bpf_attr attr{};
  attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  attr.insns = reinterpret_cast<std::uintptr_t>(nothing);
  attr.insn_cnt = 2;
  attr.license = reinterpret_cast<std::uintptr_t>("GPL");
  return result(Fd(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr))).get());
}

int try_ptrace_read(pid_t target) {
  char byte = 0;
  iovec here{&byte, 1}, there{nullptr, 1};
  return result(::process_vm_readv(target, &here, 1, &there, 1, 0));
}

// file_setattr(2), newer than Debian 12's headers.
constexpr long kSysFileSetattr = 469;
struct FileAttributes {
  std::uint64_t xflags;
  std::uint32_t extsize, nextents, projid, cowextsize;
};

constexpr int kIoprioWhoProcess = 1;  // its header is not C++

constexpr std::uint32_t kAcl = 2;  // a POSIX ACL of this version, with no entries

int try_file_setattr(int fd) {
  FileAttributes attributes{};
  const int error = result(::syscall(kSysFileSetattr, fd, "", &attributes, sizeof attributes, AT_EMPTY_PATH));
  return error == EOPNOTSUPP || error == ENOTTY ? kUnreachable : error;
}

#if defined(__x86_64__)
sigjmp_buf no_compat;  // NOLINT: a signal handler reaches nothing else

// As a 32-bit program calls it.
int try_compat_ioctl(int fd) {
  constexpr int kIoctl = 54;
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(no_compat, 1); };
  ::sigaction(SIGSEGV, &action, nullptr);
  if (sigsetjmp(no_compat, 1) != 0) return kUnreachable;  // the kernel runs no 32-bit calls
  long value = kIoctl;
  asm volatile("int $0x80"
               : "+a"(value)
               : "b"(fd), "c"(FS_IOC32_GETFLAGS), "d"(0)
               : "memory", "r8", "r9", "r10", "r11");
  const int error = static_cast<int>(-value);
  return error == ENOSYS ? kUnreachable : error;
}
#else
int try_compat_ioctl(int) { return kUnreachable; }
#endif

// A file that may be run, and is no program: a kernel that does not deny says ENOEXEC.
Fd runnable_file() {
  constexpr unsigned kMfdExec = 0x10;  // newer than Debian 12's headers
  Fd fd(static_cast<int>(::syscall(SYS_memfd_create, "sbpf-canary", MFD_CLOEXEC | kMfdExec)));
  if (!fd && errno == EINVAL) fd = Fd(static_cast<int>(::syscall(SYS_memfd_create, "sbpf-canary", MFD_CLOEXEC)));
  if (fd && ::write(fd.get(), "sbpf", 4) != 4) return Fd();
  return fd;
}

int try_exec() {
  const Fd fd = runnable_file();
  if (!fd) return kUnreachable;  // the host allows no such files (vm.memfd_noexec)
  char name[] = "sbpf-canary";
  char* const argv[] = {name, nullptr};
  char* const none[] = {nullptr};
  return result(::syscall(SYS_execveat, fd.get(), "", argv, none, AT_EMPTY_PATH));
}

int try_mprotect() {
  const Fd fd = runnable_file();
  if (!fd) return kUnreachable;
  void* memory = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED) return errno;
  const int error = result(::mprotect(memory, 1, PROT_READ | PROT_EXEC));
  ::munmap(memory, 1);
  return error;
}

// A request under a registered personality: the hook is called when the request is prepared.
int try_uring_personality() {
  io_uring_params params{};
  Fd ring(static_cast<int>(::syscall(SYS_io_uring_setup, 1, &params)));
  if (!ring) return kUnreachable;  // switched off on this host
  const int personality =
      static_cast<int>(::syscall(SYS_io_uring_register, ring.get(), IORING_REGISTER_PERSONALITY, nullptr, 0));
  if (personality < 0) return errno;
  const std::size_t size = std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(std::uint32_t),
                                                 params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
  auto* rings =
      static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.get(), IORING_OFF_SQ_RING));
  auto* entry = static_cast<io_uring_sqe*>(
      ::mmap(nullptr, sizeof(io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring.get(), IORING_OFF_SQES));
  if (rings == MAP_FAILED || entry == MAP_FAILED) return errno;
  *entry = {};
  entry->opcode = IORING_OP_NOP;
  entry->personality = static_cast<std::uint16_t>(personality);
  *reinterpret_cast<std::uint32_t*>(rings + params.sq_off.array) = 0;
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(rings + params.sq_off.tail), 1u, __ATOMIC_RELEASE);
  if (::syscall(SYS_io_uring_enter, ring.get(), 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0) return errno;
  const auto* done = reinterpret_cast<const io_uring_cqe*>(rings + params.cq_off.cqes);
  return done->res < 0 ? -done->res : 0;  // the memory goes with the process
}

int try_perf() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  return result(
      Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC))).get());
}

int try_userfaultfd() {
  const Fd fd(static_cast<int>(::syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC)));
  return fd ? 0 : errno == ENOSYS ? kUnreachable : errno;
}

// The answer is that there is no such filesystem, denied or not: that it was denied, the mark tells.
int try_module_request() {
  const Fd fd(static_cast<int>(::syscall(SYS_fsopen, "sbpf-canary", FSOPEN_CLOEXEC)));
  return fd ? 0 : errno == ENODEV ? EPERM : errno;
}

int try_set_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  return result(::setrlimit(RLIMIT_CORE, &limit));
}

int try_set_scheduler() {
  sched_param parameter{};
  return result(::sched_setscheduler(0, SCHED_OTHER, &parameter));
}

// Those that killed commands left.
void remove_stale_scenes() {
  constexpr std::time_t kMoment = 10;  // a new one is locked within it
  std::error_code ec;
  std::vector<std::string> stale;
  for (const auto& entry : std::filesystem::directory_iterator("/run", ec))
    if (entry.path().filename().string().starts_with("sbpf-canary.")) stale.push_back(entry.path());
  for (const std::string& one : stale) {
    const Fd directory(::open(one.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!directory || ::fstat(directory.get(), &info) != 0 || std::time(nullptr) - info.st_ctime < kMoment) continue;
    if (::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(one, ec);
  }
}

}  // namespace

Scene::Scene() {
  remove_stale_scenes();
  std::string pattern = "/run/sbpf-canary.XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return;
  path = pattern;
  held = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)::flock(held.get(), LOCK_EX | LOCK_NB);
  file = Fd(::open((path + "/file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  (void)!::ftruncate(file.get(), 1);
  if (::mkdir((path + "/dir").c_str(), 0700) != 0 || ::symlink("file", (path + "/link").c_str()) != 0) file.reset();
  key = static_cast<int>(::syscall(SYS_add_key, "user", "sbpf-canary", "", 1, KEY_SPEC_PROCESS_KEYRING));
  const auto setting_of = [](const char* name) {
    std::string line;
    std::getline(std::ifstream(std::string("/proc/sys/") + name), line);
    return line;
  };
  asks_for_modules = !setting_of("kernel/modprobe").empty();
  nobody_traces = setting_of("kernel/yama/ptrace_scope") == "3";
  user_namespaces = setting_of("user/max_user_namespaces") != "0";
}

Scene::~Scene() {
  std::error_code ec;
  if (key >= 0) ::syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_PROCESS_KEYRING);
  if (!path.empty()) std::filesystem::remove_all(path, ec);
}

int try_hook(sbpf_hook hook, const Scene& scene) {
  const std::string file = scene.path + "/file", dir = scene.path + "/dir", none = scene.path + "/none";
  const int fd = scene.file.get();
  const pid_t parent = scene.parent;
  char byte = 0;
  switch (hook) {
    case SBPF_HOOK_file_receive:
      return try_receive(fd);
    case SBPF_HOOK_task_alloc:
      return try_fork();
    case SBPF_HOOK_file_open:
      return result(Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get());
    case SBPF_HOOK_capable:
      return result(::prctl(PR_CAPBSET_DROP, 34 /* CAP_SYSLOG, of this process only */, 0, 0, 0));
    case SBPF_HOOK_bpf: {
      bpf_attr attr{};
      return result(::syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof attr));
    }
    case SBPF_HOOK_cgroup_attach_task:  // to where it is; as a thread, for which the kernel stops nobody else's forks
      return result(::write(scene.threads.get(), "0", 1));
    case SBPF_HOOK_bpf_map:
      return try_map();
    case SBPF_HOOK_bpf_prog:
      return try_program();
    case SBPF_HOOK_sysctl:
      return result(::pread(scene.setting.get(), &byte, 1, 0));
    case SBPF_HOOK_path_unlink:
      return result(::unlink(file.c_str()));
    case SBPF_HOOK_path_rename:
      return result(::rename(file.c_str(), (file + "2").c_str()));
    case SBPF_HOOK_path_rmdir:
      return result(::rmdir(dir.c_str()));
    case SBPF_HOOK_sb_mount:  // a filesystem type that does not exist
      return result(::mount("none", scene.path.c_str(), "sbpf-canary", 0, nullptr));
    case SBPF_HOOK_move_mount:  // not the root of a mount
      return result(::syscall(SYS_move_mount, AT_FDCWD, dir.c_str(), AT_FDCWD, scene.path.c_str(), 0));
    case SBPF_HOOK_sb_umount:  // flags that the kernel refuses together, after the hook
      return result(::umount2("/sys/fs/bpf", MNT_EXPIRE | MNT_DETACH));
    case SBPF_HOOK_task_kill:
      return result(::kill(parent, 0));
    case SBPF_HOOK_ptrace_access_check:
      return scene.nobody_traces ? kUnreachable : try_ptrace_read(parent);
    case SBPF_HOOK_ptrace_traceme:
      return scene.nobody_traces ? kUnreachable : result(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
    case SBPF_HOOK_path_mkdir:
      return result(::mkdir(none.c_str(), 0700));
    case SBPF_HOOK_path_mknod:
      return result(::mkfifo(none.c_str(), 0600));
    case SBPF_HOOK_path_symlink:
      return result(::symlink("file", none.c_str()));
    case SBPF_HOOK_path_link:
      return result(::link(file.c_str(), none.c_str()));
    case SBPF_HOOK_path_truncate:
      return result(::truncate(file.c_str(), 0));
    case SBPF_HOOK_file_truncate:
      return result(::ftruncate(fd, 0));
    case SBPF_HOOK_path_chmod:
      return result(::fchmod(fd, 0600));
    case SBPF_HOOK_path_chown:
      return result(::fchown(fd, 0, 0));
    case SBPF_HOOK_inode_setattr:
      return result(::futimens(fd, nullptr));
    case SBPF_HOOK_inode_setxattr:
      return result(::fsetxattr(fd, "user.sbpf", "", 0, 0));
    case SBPF_HOOK_inode_removexattr:
      return result(::fremovexattr(fd, "user.sbpf"));
    case SBPF_HOOK_inode_getxattr:
      return result(::fgetxattr(fd, "user.sbpf", nullptr, 0));
    case SBPF_HOOK_inode_readlink: {
      char target = 0;
      return result(::readlink((scene.path + "/link").c_str(), &target, 1));
    }
    case SBPF_HOOK_inode_set_acl:
      return result(::fsetxattr(fd, "system.posix_acl_access", &kAcl, sizeof kAcl, 0));
    case SBPF_HOOK_inode_remove_acl:
      return result(::fremovexattr(fd, "system.posix_acl_access"));
    case SBPF_HOOK_inode_file_setattr:
      return try_file_setattr(fd);
    case SBPF_HOOK_file_ioctl: {
      int flags = 0;
      return result(::ioctl(fd, FS_IOC_GETFLAGS, &flags));
    }
    case SBPF_HOOK_file_ioctl_compat:
      return try_compat_ioctl(fd);
    case SBPF_HOOK_mmap_file: {
      void* memory = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd, 0);
      if (memory == MAP_FAILED) return errno;
      ::munmap(memory, 1);
      return 0;
    }
    case SBPF_HOOK_sb_pivotroot:  // neither is a mount point
      return result(::syscall(SYS_pivot_root, scene.path.c_str(), dir.c_str()));
    case SBPF_HOOK_userns_create:
      return scene.user_namespaces ? result(::unshare(CLONE_NEWUSER)) : kUnreachable;
    case SBPF_HOOK_uring_override_creds:
      return try_uring_personality();
    case SBPF_HOOK_perf_event_open:
      return try_perf();
    case SBPF_HOOK_key_alloc:  // for which the process gets a keyring
      return result(::syscall(SYS_add_key, "user", "sbpf-canary", "", 1, KEY_SPEC_PROCESS_KEYRING));
    case SBPF_HOOK_key_permission:
      return scene.key < 0 ? kUnreachable : result(::syscall(SYS_keyctl, KEYCTL_DESCRIBE, scene.key, nullptr, 0));
    case SBPF_HOOK_kernel_module_request:
      return scene.asks_for_modules ? try_module_request() : kUnreachable;
    case SBPF_HOOK_inode_init_security_anon:
      return try_userfaultfd();
    case SBPF_HOOK_task_setnice:
      return result(::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0)));
    case SBPF_HOOK_task_setioprio:
      return result(::syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, 0));
    case SBPF_HOOK_task_setscheduler:
      return try_set_scheduler();
    case SBPF_HOOK_task_setrlimit:
      return try_set_limit();
    case SBPF_HOOK_file_fcntl:
      return result(::fcntl(fd, F_GETFD));
    case SBPF_HOOK_bprm_check_security:
      return try_exec();
    case SBPF_HOOK_file_mprotect:
      return try_mprotect();
    default:
      return try_network_hook(hook);
  }
}

}  // namespace sbpf::agent::canary
