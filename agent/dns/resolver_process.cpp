// SPDX-License-Identifier: Apache-2.0
#include "agent/dns/resolver_process.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "agent/dns/resolver_rules.h"
#include "agent/host/privileges.h"
#include "agent/host/resolver_cgroup.h"
#include "base/child.h"
#include "base/sha256.h"

namespace sbpf::agent {
namespace {

constexpr const char* kLock = "/run/sbpf-names.lock";
constexpr uid_t kNobody = 65534;

tl::unexpected<Error> cannot(const std::string& what) {
  const int error = errno;
  return fail("resolver", "cannot " + what + " for the sandbox's host names: " + std::strerror(error), "", error);
}

struct flock sandbox_range(std::uint64_t cgroup_id) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(cgroup_id);
  range.l_len = 1;
  return range;
}

// ---- in this process ----

sockaddr_storage loopback(int family, std::uint16_t port) {
  sockaddr_storage storage{};
  storage.ss_family = static_cast<sa_family_t>(family);
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (family == AF_INET) {
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4->sin_port = htons(port);
  } else {
    v6->sin6_addr = in6addr_loopback;
    v6->sin6_port = htons(port);
  }
  return storage;
}

// A port that is free for UDP need not be for TCP.
Result<std::uint16_t> listen_on(int family, dns::Listener& listener) {
  constexpr int kTries = 50;
  const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  for (int tries = 0; tries < kTries; ++tries) {
    listener.udp = Fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    listener.tcp = Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener.udp || !listener.tcp) return cannot("make a socket");
    sockaddr_storage local = loopback(family, 0);
    socklen_t length = size;
    if (::bind(listener.udp.get(), reinterpret_cast<sockaddr*>(&local), size) != 0 ||
        ::getsockname(listener.udp.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0)
      return cannot("bind a socket");
    if (::bind(listener.tcp.get(), reinterpret_cast<sockaddr*>(&local), size) != 0) continue;
    if (::listen(listener.tcp.get(), SOMAXCONN) != 0) return cannot("listen");
    // The two families have the port in the same place.
    return ntohs(reinterpret_cast<const sockaddr_in*>(&local)->sin_port);
  }
  errno = EADDRINUSE;
  return cannot("find a port");
}

// ---- in the resolver ----

// The rules in use, read again when they are others. While they cannot be read there are none.
class CurrentRules {
 public:
  CurrentRules(int map, int opened) : map_(map), opened_(opened) {}

  std::shared_ptr<const dns::Rules> operator()() {
    if (const std::uint32_t number = name_rules_in_use(map_); !rules_ || number != number_) {
      auto read = std::make_shared<NameRules>(read_name_rules(map_));
      number_ = read->number;
      rules_ = number_ == 0 ? nullptr : as_asked(std::move(read));
    }
    return rules_;
  }

 private:
  std::shared_ptr<const dns::Rules> as_asked(std::shared_ptr<const NameRules> read) const {
    auto rules = std::make_shared<dns::Rules>();
    rules->hosts = read->policy.network.hosts;
    rules->upstreams = read->upstreams;
    rules->audit = read->policy.mode == policy::Mode::audit;
    rules->may_have = [read](const policy::Address& address) { return policy::may_lead_to(read->policy.network, address); };
    rules->learn = [read, first = rules->hosts.data(), opened = opened_](const auto& matches, const std::string& name,
                                                                        const dns::Learned& learned) {
      return std::all_of(matches.begin(), matches.end(), [&](const policy::HostRule* rule) {
        return open_name(opened, *read, static_cast<std::size_t>(rule - first), name, learned);
      });
    };
    return rules;
  }

  int map_, opened_;
  std::uint32_t number_ = 0;
  std::shared_ptr<const dns::Rules> rules_;
};

// Tells the supervisor, and does not wait for it: what it does not take is counted.
class Teller {
 public:
  Teller(int socket, std::uint64_t cgroup_id) : socket_(socket), cgroup_id_(cgroup_id) { (void)!::getrandom(seed_.data(), seed_.size(), 0); }

  void operator()(const dns::Told& told) {
    sbpf_announcement message{};
    message.cgroup_id = cgroup_id_;
    message.detail = told.type;
    message.lost = lost_;
    message.verdict = told.audit ? SBPF_AUDIT : SBPF_DENY;
    switch (told.outcome) {
      case dns::Outcome::answered:
        message.reason = SBPF_REASON_NAME_ANSWERED;
        message.verdict = SBPF_ALLOW;
        break;
      case dns::Outcome::refused_name:
        message.reason = SBPF_REASON_NAME;
        break;
      case dns::Outcome::refused_rate:
      case dns::Outcome::refused_new_names:
        message.reason = SBPF_REASON_NAME_RATE;
        break;
      case dns::Outcome::withheld:
        message.reason = SBPF_REASON_NAME_WITHHELD;
        break;
      case dns::Outcome::failed:
        message.reason = SBPF_REASON_NAME_FAILED;
        message.verdict = SBPF_ALLOW;
        break;
    }
    message.n_addresses = static_cast<std::uint32_t>(told.addresses.size());
    if (!told.addresses.empty()) std::copy(told.addresses[0].begin(), told.addresses[0].end(), message.addr);
    message.name_key = key_of(told.name);
    told.name.copy(message.name, sizeof message.name - 1);
    if (::send(socket_, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof message)
      lost_ = 0;
    else
      ++lost_;
  }

 private:
  std::uint64_t key_of(const std::string& name) const {
    Sha256 sum;
    sum.add(seed_.data(), seed_.size());
    sum.add(name.data(), name.size());
    std::uint64_t key = 0;
    std::memcpy(&key, sum.finish().data(), sizeof key);
    return key;
  }

  int socket_;
  std::uint64_t cgroup_id_;
  std::array<std::uint8_t, 16> seed_{};
  std::uint32_t lost_ = 0;
};

// What the resolver needs once it serves: sockets of the internet, its map, memory, time.
int confine() {
  constexpr std::array kAllowed = {
      SCMP_SYS(accept),        SCMP_SYS(accept4),      SCMP_SYS(bind),         SCMP_SYS(brk),           SCMP_SYS(clock_gettime),
      SCMP_SYS(clock_nanosleep), SCMP_SYS(close),      SCMP_SYS(connect),      SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),
      SCMP_SYS(epoll_pwait),   SCMP_SYS(epoll_wait),   SCMP_SYS(eventfd2),     SCMP_SYS(exit),          SCMP_SYS(exit_group),
      SCMP_SYS(fcntl),         SCMP_SYS(futex),        SCMP_SYS(getpeername),  SCMP_SYS(getrandom),     SCMP_SYS(getsockname),
      SCMP_SYS(getsockopt),    SCMP_SYS(gettimeofday), SCMP_SYS(ioctl),        SCMP_SYS(madvise),       SCMP_SYS(mmap),
      SCMP_SYS(mremap),        SCMP_SYS(munmap),       SCMP_SYS(poll),         SCMP_SYS(ppoll),         SCMP_SYS(pselect6),
      SCMP_SYS(read),          SCMP_SYS(readv),        SCMP_SYS(recvfrom),     SCMP_SYS(recvmsg),       SCMP_SYS(restart_syscall),
      SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(select),      SCMP_SYS(sendmsg),       SCMP_SYS(sendto),
      SCMP_SYS(setsockopt),    SCMP_SYS(shutdown),     SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(write),
      SCMP_SYS(writev)};
  constexpr std::array kMapCommands = {BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_MAP_GET_NEXT_KEY};
  const auto free_filter = [](void* filter) { seccomp_release(filter); };
  const std::unique_ptr<void, decltype(free_filter)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), free_filter);
  if (!filter) return ENOMEM;
  for (const int call : kAllowed)
    if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0); error != 0) return -error;
  for (const int family : {AF_INET, AF_INET6})
    if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                                           SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
        error != 0)
      return -error;
  for (const int command : kMapCommands)
    if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(bpf), 1,
                                           SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command)));
        error != 0)
      return -error;
  return -seccomp_load(filter.get());
}

struct Served {
  std::uint64_t cgroup_id;
  std::vector<dns::Listener> listeners;
  Fd rules, opened, told, stop, ready;
};

// Nothing of the caller's stays open but what is served with. 0, or the errno.
int keep_only(const std::vector<int>& keep) {
  const Fd null(::open("/dev/null", O_RDWR));
  for (int fd = 0; fd < 3; ++fd)
    if (::dup2(null.get(), fd) < 0) return errno;
  return close_all_but(keep);
}

// 0, or the errno of what failed.
int settle(const Served& served, const Fd& lock, pid_t parent) {
  std::vector<int> keep{lock.get(), served.rules.get(), served.opened.get(), served.told.get(), served.stop.get(), served.ready.get()};
  for (const dns::Listener& listener : served.listeners) keep.insert(keep.end(), {listener.udp.get(), listener.tcp.get()});
  if (const int error = keep_only(keep); error != 0) return error;
  if (::setsid() < 0 || ::chdir("/") != 0) return errno;
  struct flock range = sandbox_range(served.cgroup_id);
  if (::fcntl(lock.get(), F_OFD_SETLK, &range) != 0) return errno;
  Privileges none;
  none.user = policy::User{kNobody, kNobody, {}};
  none.limits = {{RLIMIT_CORE, 1}, {RLIMIT_NOFILE, 1024}, {RLIMIT_FSIZE, 0}, {RLIMIT_NPROC, 0}};
  none.no_new_privs = true;
  for (const auto step : {set_limits, drop_bounding, set_user, set_capabilities, set_no_new_privs, verify_privileges})
    if (const int error = step(none); error != 0) return error;
  ::prctl(PR_SET_NAME, "sbpf-names", 0, 0, 0);
  // After the change of user, which takes it back.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return errno;
  if (::getppid() != parent) return ESRCH;
  return confine();
}

[[noreturn]] void resolver_main(Served served, const Fd& lock, pid_t parent) {
  int error = settle(served, lock, parent);
  CurrentRules rules(served.rules.get(), served.opened.get());
  if (error == 0 && !rules()) error = EIO;
  (void)!::write(served.ready.get(), &error, sizeof error);
  if (error != 0) ::_exit(1);
  Teller teller(served.told.get(), served.cgroup_id);
  dns::Options options;
  options.rules = [&] { return rules(); };
  options.tell = [&](const dns::Told& told) { teller(told); };
  try {
    dns::serve(options, std::move(served.listeners), served.stop);
  } catch (...) {
    ::_exit(1);  // out of memory or descriptors: names resolve no more, and nothing is opened
  }
  ::_exit(0);
}

}  // namespace

Result<ResolverProcess> start_resolver(const policy::Policy& policy, const std::string& name, std::uint64_t cgroup_id, std::uint32_t names) {
  ResolverProcess process;
  process.names.rules = make_name_rules();
  if (!process.names.rules) return cannot("make a map");
  if (auto put = put_name_rules(process.names.rules.get(), policy, names); !put) return tl::unexpected<Error>(put.error());
  if (auto used = use_name_rules(process.names.rules.get(), names); !used) return tl::unexpected<Error>(used.error());
  Served served{cgroup_id, {}, {}, {}, {}, {}, {}};
  served.listeners.resize(2);
  auto port4 = listen_on(AF_INET, served.listeners[0]);
  if (!port4) return tl::unexpected<Error>(port4.error());
  process.names.port4 = *port4;
  // A host without IPv6 has no ::1; queries to resolvers of IPv6 addresses are then denied.
  if (auto port6 = listen_on(AF_INET6, served.listeners[1]))
    process.names.port6 = *port6;
  else
    served.listeners.pop_back();
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
  process.names.opened = Fd(bpf_map_create(BPF_MAP_TYPE_HASH, "sbpf_opened", sizeof(sbpf_rule_key), sizeof(sbpf_opened),
                                           SBPF_MAX_OPENED, &options));
  if (!process.names.opened) return cannot("make a map");
  served.opened = Fd(::fcntl(process.names.opened.get(), F_DUPFD_CLOEXEC, 3));
  served.rules = to_read_name_rules(process.names.rules);
  if (!served.rules) return cannot("open a map");
  int told[2], stop[2], ready[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, told) != 0) return cannot("make a socket");
  process.told = Fd(told[0]);
  served.told = Fd(told[1]);
  if (::pipe2(stop, O_CLOEXEC) != 0) return cannot("make a pipe");
  served.stop = Fd(stop[0]);
  process.stop = Fd(stop[1]);
  if (::pipe2(ready, O_CLOEXEC) != 0) return cannot("make a pipe");
  Fd is_ready(ready[0]);
  served.ready = Fd(ready[1]);
  Fd lock(::open(kLock, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return cannot(std::string("open ") + kLock);
  const auto cgroup = make_names_cgroup(name);
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  process.cgroup = cgroup->path();
  const pid_t parent = ::getpid();
  const auto pid = clone_into(*cgroup, process.pidfd);
  if (!pid) return tl::unexpected<Error>(pid.error());
  if (*pid == 0) resolver_main(std::move(served), lock, parent);
  process.pid = *pid;
  served.ready.reset();
  int error = EIO;
  ssize_t n = 0;
  do n = ::read(is_ready.get(), &error, sizeof error);
  while (n < 0 && errno == EINTR);
  if (n == sizeof error && error == 0) return process;
  errno = n == sizeof error ? error : EIO;
  return cannot("set up the resolver's process");
}

ResolverProcess::~ResolverProcess() {
  if (!stop) return;  // moved from
  stop.reset();
  if (pid > 0) end_child(pid);
  if (!cgroup.empty()) (void)remove_cgroup(cgroup);
}

void relay_names(const Kernel& kernel, const Fd& told) {
  sbpf_announcement message{};
  while (::recv(told.get(), &message, sizeof message, MSG_DONTWAIT) == sizeof message) {
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &message, .ctx_size_in = sizeof message);
    (void)bpf_prog_test_run_opts(kernel.query(Query::announce), &options);
  }
}

Seen resolver_lives(std::uint64_t cgroup_id) {
  const Fd lock(::open(kLock, O_RDWR | O_CLOEXEC));
  struct flock range = sandbox_range(cgroup_id);
  if (!lock) return seen_by_error(errno);
  if (::fcntl(lock.get(), F_OFD_GETLK, &range) != 0) return Seen::unknown;
  return range.l_type == F_WRLCK ? Seen::there : Seen::absent;  // one to read is not the resolver's
}

}  // namespace sbpf::agent
