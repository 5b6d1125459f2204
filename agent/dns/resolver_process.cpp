// SPDX-License-Identifier: Apache-2.0
#include "agent/dns/resolver_process.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cstring>

#include "agent/dns/resolver_rules.h"
#include "agent/host/helper_process.h"
#include "agent/host/socket_end.h"
#include "base/file.h"
#include "base/sha256.h"
#include "policy/image.h"

namespace sbpf::agent {
namespace {

constexpr const char* kLock = "/run/sbpf-resolver.lock";
constexpr uid_t kNobody = 65534;
constexpr std::uint64_t kMemoryBytes = std::uint64_t{128} << 20;

tl::unexpected<Error> cannot(const std::string& what) {
  const int error = errno;
  return fail("resolver", SystemError{error}, "cannot {} for the sandbox's host names", what);
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

// 0, or the errno. Port 0: one that is free for both; what was chosen is put in its place.
int listen_on(sockaddr_storage& local, dns::Listener& listener) {
  socklen_t size = local.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  auto* name = reinterpret_cast<sockaddr*>(&local);
  listener.udp = Fd(::socket(local.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  listener.tcp = Fd(::socket(local.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool listens = listener.udp && listener.tcp && ::bind(listener.udp.get(), name, size) == 0 &&
                       ::getsockname(listener.udp.get(), name, &size) == 0 &&
                       ::bind(listener.tcp.get(), name, size) == 0 && ::listen(listener.tcp.get(), SOMAXCONN) == 0;
  return listens ? 0 : errno;
}

// A port that is free for UDP need not be for TCP.
Result<std::uint16_t> listen_anywhere(int family, dns::Listener& listener) {
  constexpr int kTries = 50;
  int error = EADDRINUSE;
  for (int tries = 0; tries < kTries && error == EADDRINUSE; ++tries) {
    sockaddr_storage local = loopback(family, 0);
    error = listen_on(local, listener);
    // The two families have the port in the same place.
    if (error == 0) return ntohs(reinterpret_cast<const sockaddr_in*>(&local)->sin_port);
  }
  errno = error;
  return cannot("listen");
}

bool lists(const policy::Network& network, const dns::Upstream& server) {
  return std::ranges::any_of(network.connect, [&](const policy::Endpoint& entry) {
    return entry.address == server.address && policy::has_port(entry.ports, server.port);
  });
}

// One that is taken is relayed, as the policy lists it; or its port is, of all addresses.
Result<void> listen_for_servers(const policy::Network& network, std::vector<dns::Listener>& listeners) {
  for (const dns::Upstream& server : upstreams_of(read_file("/etc/resolv.conf"))) {
    if (!policy::is_loopback(server.address)) continue;
    sockaddr_storage local{};
    sockaddr_of({server.address, server.port}, local);
    dns::Listener listener;
    const int error = listen_on(local, listener);
    if (error == 0) listeners.push_back(std::move(listener));
    if (error == EADDRINUSE && !lists(network, server))
      return fail("resolver",
                  fmt::format("network.connect: host names are asked of {} port {} here, and this port is relayed for "
                              "what is listed beyond loopback",
                              policy::to_string(server.address), server.port),
                  "list no port 53 beside host names, or a nameserver that is not on loopback in /etc/resolv.conf");
    errno = error;
    if (error != 0 && error != EADDRINUSE && error != EADDRNOTAVAIL && error != EAFNOSUPPORT)
      return cannot(fmt::format("listen on {}", policy::to_string(server.address)));
  }
  return {};
}

// ---- in the resolver ----

// The rules in use, read again when they are others. While they cannot be read there are none.
class CurrentRules {
 public:
  CurrentRules(int map, int opened) : map_(map), opened_(opened) {}

  std::shared_ptr<const dns::Rules> operator()() {
    if (const std::uint32_t number = resolver_rules_in_use(map_); !rules_ || number != number_) {
      auto read = std::make_shared<ResolverRules>(read_resolver_rules(map_));
      number_ = read->number;
      rules_ = number_ == 0 ? nullptr : as_asked(std::move(read));
    }
    return rules_;
  }

 private:
  std::shared_ptr<const dns::Rules> as_asked(std::shared_ptr<const ResolverRules> read) const {
    auto rules = std::make_shared<dns::Rules>();
    rules->hosts = read->policy.network.hosts;
    rules->upstreams = read->upstreams;
    rules->audit = read->policy.mode == policy::Mode::audit;
    rules->may_have = [read](const policy::Address& address) {
      return policy::may_lead_to(read->policy.network, address);
    };
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
  Teller(int socket, std::uint64_t cgroup_id) : socket_(socket), cgroup_id_(cgroup_id) {
    (void)!::getrandom(seed_.data(), seed_.size(), 0);
  }

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

struct Served {
  std::uint64_t cgroup_id;
  std::vector<dns::Listener> listeners;
  Fd rules, opened, told;
  HelperPipes pipes;
};

// 0, or the errno of what failed.
int settle(const Served& served, const Fd& lock) {
  HelperRights rights{"sbpf-resolver", policy::User{kNobody, kNobody, {}}, {}, served.pipes.owner};
  rights.keep = {lock.get(),        served.rules.get(),      served.opened.get(),
                 served.told.get(), served.pipes.stop.get(), served.pipes.ready.get()};
  for (const dns::Listener& listener : served.listeners)
    rights.keep.insert(rights.keep.end(), {listener.udp.get(), listener.tcp.get()});
  struct flock range = sandbox_range(served.cgroup_id);
  if (::fcntl(lock.get(), F_OFD_SETLK, &range) != 0) return errno;
  if (const int error = give_up_rights(rights); error != 0) return error;
  return allow_sockets_only(SocketCalls::and_map_elements);
}

[[noreturn]] void resolver_main(Served served, const Fd& lock) {
  int error = settle(served, lock);
  CurrentRules rules(served.rules.get(), served.opened.get());
  if (error == 0 && !rules()) error = EIO;
  (void)!::write(served.pipes.ready.get(), &error, sizeof error);
  if (error != 0) ::_exit(1);
  Teller teller(served.told.get(), served.cgroup_id);
  dns::Options options;
  options.rules = [&] { return rules(); };
  options.tell = [&](const dns::Told& told) { teller(told); };
  try {
    dns::serve(options, std::move(served.listeners), served.pipes.stop);
  } catch (...) {
    ::_exit(1);  // out of memory or descriptors: names resolve no more, and nothing is opened
  }
  ::_exit(0);
}

}  // namespace

Result<ResolverSockets> listen_for_queries(const policy::Network* own) {
  ResolverSockets sockets;
  sockets.listeners.resize(2);
  auto port4 = listen_anywhere(AF_INET, sockets.listeners[0]);
  if (!port4) return tl::unexpected<Error>(port4.error());
  sockets.port4 = *port4;
  // A host without IPv6 has no ::1; queries to resolvers of IPv6 addresses are then denied.
  if (auto port6 = listen_anywhere(AF_INET6, sockets.listeners[1]))
    sockets.port6 = *port6;
  else
    sockets.listeners.pop_back();
  if (auto listens = own != nullptr ? listen_for_servers(*own, sockets.listeners) : Result<void>(); !listens)
    return tl::unexpected<Error>(listens.error());
  return sockets;
}

Result<ResolverProcess> start_resolver(const policy::Policy& policy, const std::string& name, std::uint64_t cgroup_id,
                                       std::uint32_t names, ResolverSockets sockets) {
  ResolverProcess resolver;
  resolver.for_sandbox.rules = make_resolver_rules();
  if (!resolver.for_sandbox.rules) return cannot("make a map");
  if (auto put = put_resolver_rules(resolver.for_sandbox.rules.get(), policy, names); !put)
    return tl::unexpected<Error>(put.error());
  if (auto used = use_resolver_rules(resolver.for_sandbox.rules.get(), names); !used)
    return tl::unexpected<Error>(used.error());
  Served served{cgroup_id, std::move(sockets.listeners), {}, {}, {}, {}};
  resolver.for_sandbox.port4 = sockets.port4;
  resolver.for_sandbox.port6 = sockets.port6;
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
  resolver.for_sandbox.opened = Fd(bpf_map_create(BPF_MAP_TYPE_HASH, "sbpf_opened", sizeof(sbpf_rule_key),
                                                  sizeof(sbpf_opened), SBPF_MAX_OPENED, &options));
  if (!resolver.for_sandbox.opened) return cannot("make a map");
  served.opened = Fd(::fcntl(resolver.for_sandbox.opened.get(), F_DUPFD_CLOEXEC, 3));
  served.rules = to_read_resolver_rules(resolver.for_sandbox.rules);
  if (!served.rules) return cannot("open a map");
  int told[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, told) != 0) return cannot("make a socket");
  resolver.told = Fd(told[0]);
  served.told = Fd(told[1]);
  const Fd lock(::open(kLock, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return cannot(fmt::format("open {}", kLock));
  auto process = start_helper({name, kMemoryBytes}, "set up the resolver's process", cannot, [&](HelperPipes pipes) {
    served.pipes = std::move(pipes);
    resolver_main(std::move(served), lock);
  });
  if (!process) return tl::unexpected<Error>(process.error());
  return ResolverProcess{std::move(resolver.for_sandbox), std::move(resolver.told), std::move(*process)};
}

void relay_announcements(const Kernel& kernel, const Fd& told) {
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
