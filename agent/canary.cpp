// SPDX-License-Identifier: Apache-2.0
#include "agent/canary.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/mount.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/clock.h"

namespace sbpf::agent {
namespace {

// What the canary reports over its pipe.
struct RawReport {
  std::array<CanaryVerdict, SBPF_HOOK_COUNT> hooks;
  std::array<int, SBPF_HOOK_COUNT> error;
  int allowed_errno;
  int policy_errno;
  bool complete;
};

constexpr int kUnreachable = -1;
constexpr in_addr_t kPolicyProbeV4 = 0xc0000201;  // 192.0.2.1 (TEST-NET-1), port 9: never a real destination
constexpr std::uint16_t kPolicyProbePort = 9;

// Files for the path hooks, and the canary's parent; made outside the sandbox, before: the policy may forbid opening.
struct Scene {
  std::string path;
  Fd file;
  pid_t parent = ::getpid();
  Scene() {
    std::string pattern = "/run/sbpf-canary.XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return;
    path = pattern;
    file = Fd(::open((path + "/file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    (void)!::ftruncate(file.get(), 1);
    ::mkdir((path + "/dir").c_str(), 0700);
    (void)!::symlink("file", (path + "/link").c_str());
  }
  ~Scene() {
    std::error_code ec;
    if (!path.empty()) std::filesystem::remove_all(path, ec);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
};

int result(long value) { return value < 0 ? errno : 0; }

sockaddr_in canary_v4() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(SBPF_CANARY_PORT);
  address.sin_addr.s_addr = htonl(SBPF_CANARY_V4);
  return address;
}

sockaddr_in6 canary_v6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(SBPF_CANARY_PORT);
  ::inet_pton(AF_INET6, "100::5342:5046", &address.sin6_addr);
  return address;
}

enum class AddressOp { connect, send, bind };

// One of the six address hooks of the cgroup layer, on the canary endpoint.
int try_address(int family, AddressOp op) {
  Fd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno == EAFNOSUPPORT ? kUnreachable : errno;
  const sockaddr_in v4 = canary_v4();
  const sockaddr_in6 v6 = canary_v6();
  const auto* address =
      family == AF_INET ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  const socklen_t size = family == AF_INET ? sizeof v4 : sizeof v6;
  switch (op) {
    case AddressOp::connect:
      return result(::connect(fd.get(), address, size));
    case AddressOp::send:
      return result(::sendto(fd.get(), "", 1, MSG_DONTWAIT, address, size));
    case AddressOp::bind:
      return result(::bind(fd.get(), address, size));
  }
  return EINVAL;
}

int try_unix_peer(int type) {
  Fd listener(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)), client(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0) return errno;
  socklen_t size = sizeof address;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return errno;
  if (type == SOCK_STREAM && ::listen(listener.get(), 1) != 0) return errno;
  if (type == SOCK_STREAM) return result(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size));
  return result(::sendto(client.get(), "", 1, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&address), size));
}

// A refused descriptor is not an error of recvmsg: it just does not arrive.
int try_receive(int passed) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return errno;
  Fd a(pair[0]), b(pair[1]);
  char byte = 0;
  iovec io{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  if (::sendmsg(a.get(), &message, 0) < 0) return errno;
  message.msg_controllen = sizeof control;
  if (::recvmsg(b.get(), &message, MSG_CMSG_CLOEXEC) < 0) return errno;
  header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_len < CMSG_LEN(sizeof(int))) return EPERM;
  int received = -1;
  std::memcpy(&received, CMSG_DATA(header), sizeof received);
  ::close(received);
  return 0;
}

int try_fork() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  if (pid < 0) return errno;
  ::waitpid(pid, nullptr, 0);
  return 0;
}

int try_socket_op(sbpf_hook hook) {
  const int type = hook == SBPF_HOOK_socket_listen ? SOCK_STREAM : SOCK_DGRAM;
  Fd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(kPolicyProbePort);
  const auto* sa = reinterpret_cast<const sockaddr*>(&address);
  const int on = 1;
  if (hook == SBPF_HOOK_socket_connect) return result(::connect(fd.get(), sa, sizeof address));
  if (hook == SBPF_HOOK_socket_bind) return result(::bind(fd.get(), sa, sizeof address));
  if (hook == SBPF_HOOK_socket_listen) return result(::listen(fd.get(), 1));
  if (hook == SBPF_HOOK_socket_setsockopt)
    return result(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  return result(::sendto(fd.get(), "", 1, MSG_DONTWAIT, sa, sizeof address));
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
  auto* rings = static_cast<char*>(
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.get(), IORING_OFF_SQ_RING));
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

// Each operation is chosen so that nothing changes should it not be denied.
int try_hook(sbpf_hook hook, const Scene& scene) {
  const std::string file = scene.path + "/file", dir = scene.path + "/dir", none = scene.path + "/none";
  const int fd = scene.file.get();
  const pid_t parent = scene.parent;
  switch (hook) {
    case SBPF_HOOK_connect4:
      return try_address(AF_INET, AddressOp::connect);
    case SBPF_HOOK_connect6:
      return try_address(AF_INET6, AddressOp::connect);
    case SBPF_HOOK_sendmsg4:
      return try_address(AF_INET, AddressOp::send);
    case SBPF_HOOK_sendmsg6:
      return try_address(AF_INET6, AddressOp::send);
    case SBPF_HOOK_bind4:
      return try_address(AF_INET, AddressOp::bind);
    case SBPF_HOOK_bind6:
      return try_address(AF_INET6, AddressOp::bind);
    case SBPF_HOOK_sock_create:
      return result(Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)).get());
    case SBPF_HOOK_socket_create:
      return result(Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)).get());
    case SBPF_HOOK_socket_connect:
    case SBPF_HOOK_socket_sendmsg:
    case SBPF_HOOK_socket_bind:
    case SBPF_HOOK_socket_listen:
    case SBPF_HOOK_socket_setsockopt:
      return try_socket_op(hook);
    case SBPF_HOOK_unix_stream_connect:
      return try_unix_peer(SOCK_STREAM);
    case SBPF_HOOK_unix_may_send:
      return try_unix_peer(SOCK_DGRAM);
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
      return try_ptrace_read(parent);
    case SBPF_HOOK_ptrace_traceme:
      return result(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
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
      return result(::unshare(CLONE_NEWUSER));
    case SBPF_HOOK_uring_override_creds:
      return try_uring_personality();
    case SBPF_HOOK_COUNT:
      break;
  }
  return EINVAL;
}

// What every policy allows: sockets of the plain classes, talk within the sandbox, dissolving an association.
int try_allowed() {
  Fd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!udp || !tcp) return errno;
  sockaddr unspec{};
  unspec.sa_family = AF_UNSPEC;
  if (::connect(udp.get(), &unspec, sizeof unspec) != 0) return errno;
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return errno;
  Fd a(pair[0]), b(pair[1]);
  return result(::write(a.get(), "", 1));
}

int try_policy_probe() {
  Fd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(kPolicyProbeV4);
  address.sin_port = htons(kPolicyProbePort);
  return result(::connect(udp.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
}

[[noreturn]] void canary_main(KernelGlobals& globals, int pipe, const Scene& scene) {
  RawReport report{};
  globals.canary.hook = SBPF_HOOK_COUNT;  // none: these two get the policy's own verdict
  report.allowed_errno = try_allowed();
  report.policy_errno = try_policy_probe();
  for (const Hook& hook : hooks()) {
    globals.canary.hook = hook.id;
    globals.canary.hit = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const int error = try_hook(hook.id, scene);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    report.error[hook.id] = error;
    if (error == kUnreachable)
      report.hooks[hook.id] = CanaryVerdict::unreachable;
    else
      report.hooks[hook.id] = (error == EPERM || error == EACCES) && globals.canary.hit == hook.id + 1u
                                  ? CanaryVerdict::denied
                                  : CanaryVerdict::not_denied;
  }
  report.complete = true;
  (void)!::write(pipe, &report, sizeof report);
  ::_exit(0);
}

bool in_host_pid_namespace() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 && info.st_ino == 0xEFFFFFFC;  // PROC_PID_INIT_INO
}

CanaryReport judge(const RawReport& raw, const policy::Image& image) {
  CanaryReport report;
  report.hooks = raw.hooks;
  report.allowed_ok = raw.allowed_errno == 0;
  policy::NetQuery query{SBPF_RULE_CONNECT, SBPF_PROTO_UDP, *policy::parse_address("192.0.2.1"), kPolicyProbePort};
  const bool audit = (image.header().flags & SBPF_POLICY_AUDIT) != 0;
  report.policy_ok = (raw.policy_errno != EPERM) == (audit || policy::allows(image, query));
  for (const Hook& hook : hooks()) {
    if (report.hooks[hook.id] != CanaryVerdict::not_denied) continue;
    report.detail += (report.detail.empty() ? "" : ", ") + std::string(hook.name) + " (" +
                     (raw.error[hook.id] == 0 ? "allowed" : std::strerror(raw.error[hook.id])) + ")";
  }
  if (!report.detail.empty()) report.detail = "the canary was not denied by " + report.detail;
  if (!report.allowed_ok)
    report.detail = std::string("the canary was denied what every policy allows: ") + std::strerror(raw.allowed_errno);
  else if (!report.policy_ok && report.detail.empty())
    report.detail = std::string("an endpoint did not get the published policy's verdict: ") +
                    std::strerror(raw.policy_errno);
  return report;
}

}  // namespace

bool CanaryReport::ok() const {
  for (const Hook& hook : agent::hooks())
    if (hooks[hook.id] != CanaryVerdict::denied && hooks[hook.id] != CanaryVerdict::unreachable) return false;
  return allowed_ok && policy_ok;
}

const char* to_string(CanaryVerdict verdict) {
  switch (verdict) {
    case CanaryVerdict::not_run:
      return "not run";
    case CanaryVerdict::denied:
      return "denied";
    case CanaryVerdict::not_denied:
      return "not denied";
    case CanaryVerdict::unreachable:
      return "unreachable";
  }
  return "unknown";
}

Result<CanaryReport> run_canary(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image) {
  if (!in_host_pid_namespace())
    return fail("pid_namespace", "sbpf runs in a pid namespace of its own, so its canary cannot be told apart",
                "run sbpf in the host's pid namespace (containers: --pid=host)");
  if (cgroup.frozen()) return fail("canary", "the sandbox is frozen: a canary in it could not run", "thaw it first");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("canary", "cannot make a pipe", "", errno);
  Fd reader(ends[0]), writer(ends[1]);
  Scene scene;
  if (scene.path.empty() || !scene.file) return fail("canary", "cannot make a scratch directory in /run", "", errno);
  KernelGlobals& globals = kernel.globals();
  Fd pidfd;
  const std::uint64_t before = boottime_ns();
  auto pid = clone_into(cgroup, pidfd);
  if (!pid && pid.error().sys_errno == EBUSY) {
    // A cgroup that hands controllers down takes no processes itself: a child of it is judged the same.
    auto child = Cgroup::create(cgroup.path() + "/sbpf-canary");
    if (!child) return fail(std::move(child.error()), "cannot run the canary");
    auto report = run_canary(kernel, *child, image);
    (void)remove_cgroup(child->path());
    return report;
  }
  if (!pid) return fail(std::move(pid.error()), "cannot run the canary");
  if (*pid == 0) {
    globals.canary.born_from = before;
    globals.canary.born_until = boottime_ns();
    __atomic_store_n(&globals.canary.tgid, static_cast<std::uint32_t>(::getpid()), __ATOMIC_SEQ_CST);
    canary_main(globals, writer.get(), scene);
  }
  writer.reset();
  RawReport raw{};
  pollfd waiting{reader.get(), POLLIN, 0};
  const bool answered = ::poll(&waiting, 1, 10000) == 1 && ::read(reader.get(), &raw, sizeof raw) == sizeof raw;
  if (!answered) ::kill(*pid, SIGKILL);
  ::waitpid(*pid, nullptr, 0);
  __atomic_store_n(&globals.canary.tgid, 0u, __ATOMIC_SEQ_CST);
  if (!answered || !raw.complete)
    return fail("canary", "the canary gave no answer", "the sandbox's cgroup may be frozen or at a limit", EIO);
  return judge(raw, image);
}

}  // namespace sbpf::agent
