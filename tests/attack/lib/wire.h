// SPDX-License-Identifier: Apache-2.0
// Packets made by hand.
#pragma once

#include <string>

#include "tests/attack/lib/attack.h"

namespace attack {

// An IPv4 packet with a UDP datagram to address:port.
std::string udp4_packet(const char* to, std::uint16_t port, const std::string& payload, const char* from = "127.0.0.1");
// By a socket of AF_PACKET over lo. "sendto"
void send_on_loopback(const Fd& fd, const std::string& packet);
// An ICMP or ICMPv6 echo request.
std::string echo_request(bool v6, const std::string& payload);
std::uint16_t internet_checksum(const std::string& bytes);

}  // namespace attack
