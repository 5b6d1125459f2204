// SPDX-License-Identifier: Apache-2.0
// Datagrams of a socket that is reached by every address: to which one they were sent, and answers from that one.
#pragma once

#include <sys/socket.h>

#include <boost/asio/ip/udp.hpp>
#include <optional>
#include <span>

#include "base/fd.h"

namespace sbpf::agent {

// Has the kernel tell with each datagram which address it was sent to, and lets answers come from there. 0, or the
// errno.
int tell_destinations(const Fd& socket, int family);

struct ReceivedDatagram {
  std::size_t size = 0;
  boost::asio::ip::udp::endpoint from;
  boost::asio::ip::address to;
};

// Does not wait. Nothing: there is none, or its destination cannot be told.
std::optional<ReceivedDatagram> receive_datagram(int socket, std::span<char> into);

// Sends an answer to `to` that comes from the address `from`. One that finds no room is lost, as datagrams are.
void send_datagram(int socket, std::span<const char> datagram, const boost::asio::ip::udp::endpoint& to,
                   const boost::asio::ip::address& from);

}  // namespace sbpf::agent
