// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/relay_datagram.h"

#include <netinet/in.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sbpf::agent {
namespace {

using boost::asio::ip::address_v4;
using boost::asio::ip::address_v6;
using Control = std::array<char, 128>;

template <typename Info>
const Info* info_in(msghdr& message, int level, int type) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part))
    if (part->cmsg_level == level && part->cmsg_type == type) return reinterpret_cast<const Info*>(CMSG_DATA(part));
  return nullptr;
}

std::optional<boost::asio::ip::address> destination_of(msghdr& message) {
  if (const auto* v4 = info_in<in_pktinfo>(message, IPPROTO_IP, IP_PKTINFO))
    return address_v4(ntohl(v4->ipi_addr.s_addr));
  if (const auto* v6 = info_in<in6_pktinfo>(message, IPPROTO_IPV6, IPV6_PKTINFO)) {
    address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &v6->ipi6_addr, bytes.size());
    return address_v6(bytes);
  }
  return std::nullopt;
}

template <typename Info>
void put_info(msghdr& message, int level, int type, const Info& info) {
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = level;
  part->cmsg_type = type;
  part->cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(part), &info, sizeof info);
  message.msg_controllen = CMSG_SPACE(sizeof info);
}

}  // namespace

int tell_destinations(const Fd& socket, int family) {
  const int on = 1;
  const auto set = [&](int level, int option) {
    return ::setsockopt(socket.get(), level, option, &on, sizeof on) == 0;
  };
  const bool done = family == AF_INET ? set(IPPROTO_IP, IP_PKTINFO)
                                      : set(IPPROTO_IPV6, IPV6_RECVPKTINFO) && set(IPPROTO_IPV6, IPV6_FREEBIND);
  return done ? 0 : errno;
}

std::optional<ReceivedDatagram> receive_datagram(int socket, std::span<char> into) {
  ReceivedDatagram received;
  alignas(cmsghdr) Control control{};
  iovec data{into.data(), into.size()};
  msghdr message{};
  message.msg_name = received.from.data();
  message.msg_namelen = static_cast<socklen_t>(received.from.capacity());
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_DONTWAIT);
  if (size < 0) return std::nullopt;
  const auto to = destination_of(message);
  if (!to) return std::nullopt;
  received.size = static_cast<std::size_t>(size);
  received.from.resize(message.msg_namelen);
  received.to = *to;
  return received;
}

void send_datagram(int socket, std::span<const char> datagram, const boost::asio::ip::udp::endpoint& to,
                   const boost::asio::ip::address& from) {
  alignas(cmsghdr) Control control{};
  boost::asio::ip::udp::endpoint name = to;
  iovec data{const_cast<char*>(datagram.data()), datagram.size()};
  msghdr message{};
  message.msg_name = name.data();
  message.msg_namelen = static_cast<socklen_t>(name.size());
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (from.is_v4()) {
    in_pktinfo info{};
    info.ipi_spec_dst.s_addr = htonl(from.to_v4().to_uint());
    put_info(message, IPPROTO_IP, IP_PKTINFO, info);
  } else {
    in6_pktinfo info{};
    const auto bytes = from.to_v6().to_bytes();
    std::memcpy(&info.ipi6_addr, bytes.data(), bytes.size());
    put_info(message, IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
  (void)!::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace sbpf::agent
