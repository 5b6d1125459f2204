// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <cstring>

#include "agent/verify/canary_ops.h"

namespace sbpf::agent::canary {
namespace {

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

// What the kernel names as the other side must be the endpoint that was asked for, though the socket talks to itself by
// then (bpf/dns.h).
int try_origin(int family, bool receives) {
  Fd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno == EAFNOSUPPORT ? kUnreachable : errno;
  const sockaddr_in v4 = canary_v4();
  const sockaddr_in6 v6 = canary_v6();
  const auto* asked =
      family == AF_INET ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  const socklen_t size = family == AF_INET ? sizeof v4 : sizeof v6;
  const long sent = receives ? ::sendto(fd.get(), "", 1, MSG_DONTWAIT, asked, size) : ::connect(fd.get(), asked, size);
  if (sent < 0) return family == AF_INET6 && (errno == EADDRNOTAVAIL || errno == ENETUNREACH) ? kUnreachable : errno;
  sockaddr_in6 told{};
  socklen_t length = sizeof told;
  auto* other = reinterpret_cast<sockaddr*>(&told);
  char byte = 0;
  const timeval patience{2, 0};
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if ((receives ? ::recvfrom(fd.get(), &byte, 1, 0, other, &length) : ::getpeername(fd.get(), other, &length)) < 0)
    return errno;
  const auto* told4 = reinterpret_cast<const sockaddr_in*>(&told);
  const bool same = family == AF_INET ? told4->sin_addr.s_addr == v4.sin_addr.s_addr && told4->sin_port == v4.sin_port
                                      : std::memcmp(&told.sin6_addr, &v6.sin6_addr, sizeof v6.sin6_addr) == 0 &&
                                            told.sin6_port == v6.sin6_port;
  return same ? 0 : EADDRNOTAVAIL;
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
  if (hook == SBPF_HOOK_socket_setsockopt) return result(::setsockopt(fd.get(), SOL_SOCKET, kNoOption, &on, sizeof on));
  return result(::sendto(fd.get(), "", 1, MSG_DONTWAIT, sa, sizeof address));
}

}  // namespace

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

int try_network_hook(sbpf_hook hook) {
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
    case SBPF_HOOK_recvmsg4:
      return try_origin(AF_INET, true);
    case SBPF_HOOK_recvmsg6:
      return try_origin(AF_INET6, true);
    case SBPF_HOOK_getpeername4:
      return try_origin(AF_INET, false);
    case SBPF_HOOK_getpeername6:
      return try_origin(AF_INET6, false);
    case SBPF_HOOK_unix_stream_connect:
      return try_unix_peer(SOCK_STREAM);
    case SBPF_HOOK_unix_may_send:
      return try_unix_peer(SOCK_DGRAM);
    default:
      return EINVAL;
  }
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

}  // namespace sbpf::agent::canary
