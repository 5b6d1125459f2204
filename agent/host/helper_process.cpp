// SPDX-License-Identifier: Apache-2.0
#include "agent/host/helper_process.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "agent/host/privileges.h"
#include "agent/host/resolver_cgroup.h"
#include "base/child.h"

namespace sbpf::agent {
namespace {

constexpr std::array kAllowedCalls = {SCMP_SYS(accept),
                                      SCMP_SYS(accept4),
                                      SCMP_SYS(bind),
                                      SCMP_SYS(brk),
                                      SCMP_SYS(clock_gettime),
                                      SCMP_SYS(clock_nanosleep),
                                      SCMP_SYS(close),
                                      SCMP_SYS(connect),
                                      SCMP_SYS(epoll_create1),
                                      SCMP_SYS(epoll_ctl),
                                      SCMP_SYS(epoll_pwait),
                                      SCMP_SYS(epoll_wait),
                                      SCMP_SYS(eventfd2),
                                      SCMP_SYS(exit),
                                      SCMP_SYS(exit_group),
                                      SCMP_SYS(fcntl),
                                      SCMP_SYS(futex),
                                      SCMP_SYS(getpeername),
                                      SCMP_SYS(getrandom),
                                      SCMP_SYS(getsockname),
                                      SCMP_SYS(getsockopt),
                                      SCMP_SYS(gettimeofday),
                                      SCMP_SYS(ioctl),
                                      SCMP_SYS(madvise),
                                      SCMP_SYS(mmap),
                                      SCMP_SYS(mremap),
                                      SCMP_SYS(munmap),
                                      SCMP_SYS(poll),
                                      SCMP_SYS(ppoll),
                                      SCMP_SYS(pselect6),
                                      SCMP_SYS(read),
                                      SCMP_SYS(readv),
                                      SCMP_SYS(recvfrom),
                                      SCMP_SYS(recvmsg),
                                      SCMP_SYS(restart_syscall),
                                      SCMP_SYS(rt_sigprocmask),
                                      SCMP_SYS(rt_sigreturn),
                                      SCMP_SYS(select),
                                      SCMP_SYS(sendmsg),
                                      SCMP_SYS(sendto),
                                      SCMP_SYS(setsockopt),
                                      SCMP_SYS(shutdown),
                                      SCMP_SYS(timerfd_create),
                                      SCMP_SYS(timerfd_settime),
                                      SCMP_SYS(write),
                                      SCMP_SYS(writev)};

constexpr std::array kMapCommands = {BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM,
                                     BPF_MAP_GET_NEXT_KEY};

// 0, or the errno of what failed.
int keep_only(const std::vector<int>& keep) {
  const Fd null(::open("/dev/null", O_RDWR));
  for (int fd = 0; fd < 3; ++fd)
    if (::dup2(null.get(), fd) < 0) return errno;
  return close_all_but(keep);
}

}  // namespace

Result<HelperProcess> start_helper(const HelperCgroup& limited, const char* set_up,
                                   tl::unexpected<Error> (*cannot)(const std::string& what),
                                   const std::function<void(HelperPipes)>& serve) {
  HelperProcess process;
  int stop[2], ready[2];
  if (::pipe2(stop, O_CLOEXEC) != 0) return cannot("make a pipe");
  HelperPipes pipes{Fd(stop[0]), {}, ::getpid()};
  process.stop = Fd(stop[1]);
  if (::pipe2(ready, O_CLOEXEC) != 0) return cannot("make a pipe");
  const Fd is_ready(ready[0]);
  pipes.ready = Fd(ready[1]);
  const auto cgroup = make_resolver_cgroup(limited.name, limited.memory_bytes);
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  process.cgroup = cgroup->path();
  const auto pid = clone_into(*cgroup, process.pidfd);
  if (!pid) return tl::unexpected<Error>(pid.error());
  if (*pid == 0) {
    serve(std::move(pipes));
    ::_exit(1);
  }
  process.pid = *pid;
  pipes.ready.reset();
  int error = EIO;
  ssize_t n = 0;
  do n = ::read(is_ready.get(), &error, sizeof error);
  while (n < 0 && errno == EINTR);
  if (n == sizeof error && error == 0) return process;
  errno = n == sizeof error ? error : EIO;
  return cannot(set_up);
}

HelperProcess::~HelperProcess() {
  if (!stop) return;  // moved from
  stop.reset();
  if (pid > 0) {
    pollfd ended{pidfd.get(), POLLIN, 0};
    (void)::poll(&ended, 1, static_cast<int>(patience.count()));
    end_child(pid);
  }
  if (!cgroup.empty()) (void)remove_cgroup(cgroup);
}

int give_up_rights(const HelperRights& rights) {
  if (const int error = keep_only(rights.keep); error != 0) return error;
  if (::setsid() < 0 || ::chdir("/") != 0) return errno;
  Privileges none;
  none.user = rights.user;
  none.limits = {{RLIMIT_CORE, 1}, {RLIMIT_NOFILE, 2048}, {RLIMIT_FSIZE, 0}, {RLIMIT_NPROC, 0}};
  none.no_new_privs = true;
  for (const auto step : {set_limits, drop_bounding, set_user, set_capabilities, set_no_new_privs, verify_privileges})
    if (const int error = step(none); error != 0) return error;
  ::prctl(PR_SET_NAME, rights.name, 0, 0, 0);
  // After the change of user, which takes it back.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return errno;
  return ::getppid() == rights.owner ? 0 : ESRCH;
}

int allow_sockets_only(SocketCalls calls) {
  const auto free_filter = [](void* filter) { seccomp_release(filter); };
  const std::unique_ptr<void, decltype(free_filter)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), free_filter);
  if (!filter) return ENOMEM;
  for (const int call : kAllowedCalls)
    if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0); error != 0) return -error;
  for (const int family : {AF_INET, AF_INET6})
    if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                                           SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
        error != 0)
      return -error;
  if (calls == SocketCalls::and_map_elements)
    for (const int command : kMapCommands)
      if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(bpf), 1,
                                             SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command)));
          error != 0)
        return -error;
  return -seccomp_load(filter.get());
}

}  // namespace sbpf::agent
