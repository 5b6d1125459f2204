// SPDX-License-Identifier: Apache-2.0
#include "agent/host/network_namespace.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace sbpf::agent {
namespace {

tl::unexpected<Error> no_network(const char* what) {
  const int error = errno;
  const char* hint = error == ENOSPC  ? "user.max_net_namespaces is used up, a sysctl of the host"
                     : error == EPERM ? "network.loopback: private needs CAP_SYS_ADMIN and CAP_NET_ADMIN"
                                      : "";
  return fail("network_namespace", SystemError{error, hint}, "cannot {}", what);
}

// Without capabilities, too, the sandbox uses every port: nobody else is there. Where /proc cannot be written to, low
// ports are for who has CAP_NET_BIND_SERVICE.
void open_low_ports() {
  const Fd file(::open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC));
  if (file) (void)!::write(file.get(), "0", 1);
}

// Of this thread's network namespace.
Result<void> bring_up_loopback(const Fd& socket) {
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return no_network("look at the sandbox's loopback");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return no_network("bring up the sandbox's loopback");
  return {};
}

Result<NetworkNamespace> make_here(const std::function<Result<void>()>& inside) {
  NetworkNamespace made;
  if (::unshare(CLONE_NEWNET) != 0) return no_network("make a network namespace for the sandbox");
  made.fd = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!made.fd) return no_network("open the sandbox's network namespace");
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return no_network("make a socket for the sandbox");
  open_low_ports();
  if (auto up = bring_up_loopback(socket); !up) return tl::unexpected<Error>(up.error());
  auto cookie = network_cookie(socket);
  if (!cookie) return tl::unexpected<Error>(cookie.error());
  made.cookie = *cookie;
  if (auto done = inside(); !done) return tl::unexpected<Error>(done.error());
  return made;
}

Result<std::uint64_t> enter_network_of(pid_t pid, const std::function<Result<void>()>& inside) {
  const Fd network(::open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!network || ::setns(network.get(), CLONE_NEWNET) != 0) return no_network("enter the process's network namespace");
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return no_network("make a socket for the sandbox");
  if (auto done = inside(); !done) return tl::unexpected<Error>(done.error());
  return network_cookie(socket);
}

}  // namespace

Result<std::uint64_t> network_cookie(const Fd& socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0) return cookie;
  return no_network("tell which network namespace a socket is in");
}

Result<NetworkNamespace> make_network_namespace(const std::function<Result<void>()>& inside) {
  Result<NetworkNamespace> made;
  std::thread([&] { made = make_here(inside); }).join();
  return made;
}

Result<std::uint64_t> in_network_of(pid_t pid, const std::function<Result<void>()>& inside) {
  Result<std::uint64_t> cookie;
  std::thread([&] { cookie = enter_network_of(pid, inside); }).join();
  return cookie;
}

}  // namespace sbpf::agent
