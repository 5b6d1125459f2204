// SPDX-License-Identifier: Apache-2.0
// Sockets for attackers: each call is a step that throws Failure with its name.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "tests/attack/lib/attack.h"

namespace attack {

// Any socket address with its length.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address v4(const char* address, std::uint16_t port);
Address v6(const char* address, std::uint16_t port);
Address unspec();                                            // AF_UNSPEC: dissolves an association
Address unspec_v4(const char* address, std::uint16_t port);  // a sockaddr_in whose family says AF_UNSPEC
Address unix_path(const std::string& path);
Address unix_abstract(const std::string& name);
Address vsock(unsigned cid, unsigned port);
Address netlink(unsigned port_id);

Fd open_socket(int family, int type, int protocol = 0);  // "socket"
void connect_to(const Fd& fd, const Address& to, const char* step = "connect");
void bind_to(const Fd& fd, const Address& to);  // "bind"
void must_be_wide(const Fd& fd);                // it is bound to a wildcard, and not to one address: "getsockname"
void listen_on(const Fd& fd);                   // "listen"
void send_text(const Fd& fd, const std::string& text, int flags = 0);                        // "send"
void send_text_to(const Fd& fd, const std::string& text, const Address& to, int flags = 0);  // "sendto"
// sendmsg with an address and, if `type` is not 0, one item of ancillary data. "sendmsg"
void send_message(const Fd& fd, const std::string& text, const Address& to, int level = 0, int type = 0,
                  const std::string& ancillary = {});
// "setsockopt"
void set_option(const Fd& fd, int level, int name, const void* value, std::size_t size);
void set_option(const Fd& fd, int level, int name, int value);

// Sends one descriptor over an AF_UNIX socket. "sendmsg"
void send_fd(int socket, const Fd& fd);
// Receives one descriptor over an AF_UNIX socket; EPERM at "recvmsg" if the kernel withheld it.
Fd receive_fd(int socket);
// The descriptor in a message that recvmsg filled in; the same failure.
Fd fd_of_message(msghdr& message);

// IP option: loose source route over one hop. The packet goes to the hop, whatever address is given to sendto.
std::string loose_source_route(const char* hop);
// IPv6 segment routing header: over one hop, to a final destination.
std::string segment_route(const char* hop, const char* final_destination);
// Leases a flow label whose options route what bears it by way of a hop (IPV6_FLOWLABEL_MGR); in network byte order, as
// sin6_flowinfo wants it. "setsockopt"
std::uint32_t lease_routing_label(const Fd& fd, const char* hop);
// The same, and has the socket's labels count (IPV6_FLOWINFO_SEND): ::1 with this label, at this port. "setsockopt"
Address loopback_by_way_of(const Fd& fd, const char* hop, std::uint16_t port);
// IPv6 routing header of type 2, of mobile IPv6: the only one that ancillary data may carry. Needs CONFIG_IPV6_MIP6.
std::string home_route(const char* hop);

inline constexpr const char* kWire4 = "127.0.83.66";
inline constexpr const char* kMetadata4 = "169.254.169.254";
inline constexpr const char* kMetadata6 = "fd00:ec2::254";
inline constexpr const char* kWire6 = "fd53:4250::2";
inline constexpr const char* kFar4 = "192.0.2.84";
inline constexpr const char* kMulticast = "239.255.83.66";
inline constexpr const char* kMulticast6 = "ff15::5342";
// Of Victim::other_wire: the interface, and addresses that no host there has.
inline constexpr const char* kOtherInterface = "sbpfother";
inline constexpr const char* kBeyond4 = "198.51.100.83";
inline constexpr const char* kBeyond6 = "2001:db8::83";
inline constexpr const char* kLinkLocal6 = "fe80::83";
int other_interface();  // its number, 0 if there is none
// The part of the token that its addresses of groups or sources have.
inline constexpr std::size_t kTokenInGroup = 5, kTokenInGroupSize = 3;
// A policy that allows port {decoy} of these, and beneath it one that also lets sbpfother be named.
inline constexpr const char* kToBeyond4 = "connect: [{address: 198.51.100.83, ports: [{decoy}], protocol: udp}]";
inline constexpr const char* kToBeyond4ByOther =
    "connect: [{address: 198.51.100.83, ports: [{decoy}], protocol: udp}]\n  interfaces: [sbpfother]";
inline constexpr const char* kToBeyond6 = "connect: [{address: \"2001:db8::83\", ports: [{decoy}], protocol: udp}]";
inline constexpr const char* kToBeyond6ByOther =
    "connect: [{address: \"2001:db8::83\", ports: [{decoy}], protocol: udp}]\n  interfaces: [sbpfother]";
inline constexpr const char* kToLinkLocal6 = "connect: [{address: \"fe80::83\", ports: [{decoy}], protocol: udp}]";
inline constexpr const char* kToLinkLocal6ByOther =
    "connect: [{address: \"fe80::83\", ports: [{decoy}], protocol: udp}]\n  interfaces: [sbpfother]";

}  // namespace attack
