// SPDX-License-Identifier: Apache-2.0
#include "agent/host/network_namespace.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "agent/host/socket_end.h"

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

// A request of rtnetlink(7), as it is on the wire: its head, its body, and its attributes.
class RouteRequest {
 public:
  template <typename Body>
  RouteRequest(std::uint16_t type, const Body& body) {
    nlmsghdr head{};
    head.nlmsg_type = type;
    head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    add(head);
    add(body);
  }
  template <typename Value>
  void attribute(std::uint16_t type, const Value& value) {
    add(rtattr{static_cast<std::uint16_t>(RTA_LENGTH(sizeof value)), type});
    add(value);
  }
  // 0, or the errno.
  int send(const Fd& netlink) {
    const auto size = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &size, sizeof size);
    if (::send(netlink.get(), bytes_.data(), bytes_.size(), 0) < 0) return errno;
    struct {
      nlmsghdr head;
      nlmsgerr answer;
    } reply{};
    errno = EIO;
    if (::recv(netlink.get(), &reply, sizeof reply, 0) < static_cast<ssize_t>(sizeof reply.head + sizeof(int)))
      return errno;
    return reply.head.nlmsg_type == NLMSG_ERROR ? -reply.answer.error : EIO;
  }

 private:
  template <typename Part>
  void add(const Part& part) {
    const auto* first = reinterpret_cast<const char*>(&part);
    bytes_.insert(bytes_.end(), first, first + sizeof part);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  std::vector<char> bytes_;
};

// 0, or the errno: a route of the local table, to the loopback for all addresses of the family.
int add_local_route(const Fd& netlink, std::uint8_t family) {
  rtmsg route{};
  route.rtm_family = family;
  route.rtm_table = RT_TABLE_LOCAL;
  route.rtm_protocol = RTPROT_BOOT;
  route.rtm_scope = RT_SCOPE_HOST;
  route.rtm_type = RTN_LOCAL;
  RouteRequest request(RTM_NEWROUTE, route);
  request.attribute(RTA_OIF, ::if_nametoindex("lo"));
  return request.send(netlink);
}

// 0, or the errno. An address by which programs see that there is a network beyond loopback, so that they ask for
// addresses of this family (AI_ADDRCONFIG of getaddrinfo).
template <typename Address>
int add_address(const Fd& netlink, std::uint8_t family, const char* text) {
  Address address{};
  ::inet_pton(family, text, &address);
  ifaddrmsg on{};
  on.ifa_family = family;
  on.ifa_prefixlen = sizeof address * 8;
  on.ifa_flags = IFA_F_NODAD;
  on.ifa_index = ::if_nametoindex("lo");
  RouteRequest request(RTM_NEWADDR, on);
  request.attribute(IFA_LOCAL, address);
  request.attribute(IFA_ADDRESS, address);
  return request.send(netlink);
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

Result<bool> lead_all_to_loopback(bool has_ipv6) {
  const Fd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!netlink) return no_network("make a socket for the sandbox's routes");
  if (errno = add_local_route(netlink, AF_INET); errno != 0) return no_network("route the sandbox's network");
  // RFC 7600 reserves it for hosts that have no address of IPv4.
  if (errno = add_address<in_addr>(netlink, AF_INET, "192.0.0.8"); errno != 0)
    return no_network("give the sandbox's network an address");
  if (!has_ipv6 || add_local_route(netlink, AF_INET6) != 0) return false;
  (void)add_address<in6_addr>(netlink, AF_INET6, "fd00::8");
  return true;
}

bool reaches_ipv6(const policy::Address& address) {
  const Fd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage there{};
  const socklen_t size = sockaddr_of({address, 1}, there);
  return socket && there.ss_family == AF_INET6 &&
         ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), size) == 0;
}

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
