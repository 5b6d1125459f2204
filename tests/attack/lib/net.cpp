// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/net.h"

#include <arpa/inet.h>
#include <linux/in6.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace attack {

namespace {

template <typename T>
Address of(const T& value, std::size_t length = sizeof(T)) {
  Address address;
  std::memcpy(&address.storage, &value, sizeof(T));
  address.length = static_cast<socklen_t>(length);
  return address;
}

Address unix_name(const std::string& name, std::size_t offset) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path + offset, name.data(), std::min(name.size(), sizeof(un.sun_path) - 1 - offset));
  return of(un, offsetof(sockaddr_un, sun_path) + name.size() + 1);
}

}  // namespace

Address v4(const char* address, std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  inet_pton(AF_INET, address, &in.sin_addr);
  return of(in);
}

Address v6(const char* address, std::uint16_t port) {
  sockaddr_in6 in6{};
  in6.sin6_family = AF_INET6;
  in6.sin6_port = htons(port);
  inet_pton(AF_INET6, address, &in6.sin6_addr);
  return of(in6);
}

int other_interface() { return static_cast<int>(if_nametoindex(kOtherInterface)); }

Address unspec() {
  sockaddr_in in{};
  in.sin_family = AF_UNSPEC;
  return of(in);
}

Address unspec_v4(const char* address, std::uint16_t port) {
  Address result = v4(address, port);
  result.storage.ss_family = AF_UNSPEC;
  return result;
}

Address unix_path(const std::string& path) { return unix_name(path, 0); }
Address unix_abstract(const std::string& name) { return unix_name(name, 1); }

Address vsock(unsigned cid, unsigned port) {
  sockaddr_vm vm{};
  vm.svm_family = AF_VSOCK;
  vm.svm_cid = cid;
  vm.svm_port = port;
  return of(vm);
}

Address netlink(unsigned port_id) {
  sockaddr_nl nl{};
  nl.nl_family = AF_NETLINK;
  nl.nl_pid = port_id;
  return of(nl);
}

Fd open_socket(int family, int type, int protocol) {
  return Fd(must(socket(family, type | SOCK_CLOEXEC, protocol), "socket"));
}

void connect_to(const Fd& fd, const Address& to, const char* step) {
  must(connect(fd.get(), to.raw(), to.length), step);
}

void bind_to(const Fd& fd, const Address& to) { must(bind(fd.get(), to.raw(), to.length), "bind"); }

void must_be_wide(const Fd& fd) {
  Address at;
  at.length = sizeof(at.storage);
  must(getsockname(fd.get(), at.raw(), &at.length), "getsockname");
  char host[NI_MAXHOST] = {};
  if (getnameinfo(at.raw(), at.length, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) != 0)
    throw Failure{EINVAL, "getnameinfo"};
  if (std::string_view(host) != "0.0.0.0" && std::string_view(host) != "::")
    throw Failure{EADDRNOTAVAIL, "getsockname"};
}

void listen_on(const Fd& fd) { must(listen(fd.get(), 16), "listen"); }

void send_text(const Fd& fd, const std::string& text, int flags) {
  must(send(fd.get(), text.data(), text.size(), flags | MSG_NOSIGNAL), "send");
}

void send_text_to(const Fd& fd, const std::string& text, const Address& to, int flags) {
  must(sendto(fd.get(), text.data(), text.size(), flags | MSG_NOSIGNAL, to.raw(), to.length), "sendto");
}

void send_message(const Fd& fd, const std::string& text, const Address& to, int level, int type,
                  const std::string& ancillary) {
  alignas(cmsghdr) char control[256] = {};
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to.raw());
  message.msg_namelen = to.length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (type != 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(ancillary.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = level;
    header->cmsg_type = type;
    header->cmsg_len = CMSG_LEN(ancillary.size());
    std::memcpy(CMSG_DATA(header), ancillary.data(), ancillary.size());
  }
  must(sendmsg(fd.get(), &message, MSG_NOSIGNAL), "sendmsg");
}

void set_option(const Fd& fd, int level, int name, const void* value, std::size_t size) {
  must(setsockopt(fd.get(), level, name, value, static_cast<socklen_t>(size)), "setsockopt");
}

void set_option(const Fd& fd, int level, int name, int value) { set_option(fd, level, name, &value, sizeof(value)); }

Fd fd_of_message(msghdr& message) {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len >= CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return Fd(fd);
  }
  throw Failure{message.msg_flags & MSG_CTRUNC ? EPERM : ENOMSG, "recvmsg"};
}

void send_fd(int socket, const Fd& fd) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 'f';
  iovec part = {&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = fd.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof(number));
  must(sendmsg(socket, &message, MSG_NOSIGNAL), "sendmsg");
}

Fd receive_fd(int socket) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  must(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), "recvmsg call");
  return fd_of_message(message);
}

std::string loose_source_route(const char* hop) {
  in_addr address{};
  inet_pton(AF_INET, hop, &address);
  std::string option("\x83\x07\x04", 3);  // LSRR, 7 bytes, pointer to the first
  option.append(reinterpret_cast<const char*>(&address), 4);
  option.push_back('\0');  // end of options
  return option;
}

std::string segment_route(const char* hop, const char* final_destination) {
  in6_addr segments[2];
  inet_pton(AF_INET6, final_destination, &segments[0]);
  inet_pton(AF_INET6, hop, &segments[1]);
  std::string header("\x00\x04\x04\x01\x01\x00\x00\x00", 8);  // 4 * 8 bytes, type 4, one left, last entry 1
  header.append(reinterpret_cast<const char*>(segments), sizeof(segments));
  return header;
}

std::string home_route(const char* hop) {
  in6_addr address;
  inet_pton(AF_INET6, hop, &address);
  std::string header("\x00\x02\x02\x01\x00\x00\x00\x00", 8);  // 2 * 8 bytes, type 2, one left
  header.append(reinterpret_cast<const char*>(&address), sizeof(address));
  return header;
}

std::uint32_t lease_routing_label(const Fd& fd, const char* hop) {
  const std::string route = home_route(hop);
  const std::size_t item = CMSG_SPACE(route.size());
  std::string request(sizeof(in6_flowlabel_req) + item, '\0');
  in6_flowlabel_req label{};
  inet_pton(AF_INET6, "::1", &label.flr_dst);
  label.flr_action = IPV6_FL_A_GET;
  label.flr_share = IPV6_FL_S_EXCL;
  label.flr_flags = IPV6_FL_F_CREATE;
  std::memcpy(request.data(), &label, sizeof(label));
  cmsghdr header{};
  header.cmsg_len = CMSG_LEN(route.size());
  header.cmsg_level = IPPROTO_IPV6;
  header.cmsg_type = IPV6_RTHDR;
  std::memcpy(request.data() + sizeof(label), &header, sizeof(header));
  std::memcpy(request.data() + sizeof(label) + CMSG_LEN(0), route.data(), route.size());
  set_option(fd, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, request.data(), request.size());
  std::memcpy(&label, request.data(), sizeof(label));  // the kernel wrote the label that it chose
  return label.flr_label;
}

Address loopback_by_way_of(const Fd& fd, const char* hop, std::uint16_t port) {
  const std::uint32_t label = lease_routing_label(fd, hop);
  set_option(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1);
  Address to = v6("::1", port);
  reinterpret_cast<sockaddr_in6*>(to.raw())->sin6_flowinfo = label;
  return to;
}

}  // namespace attack
