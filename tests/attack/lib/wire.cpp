// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/wire.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>

#include <cstring>

namespace attack {

namespace {

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace

std::uint16_t internet_checksum(const std::string& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    std::uint16_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(2, bytes.size() - i));
    sum += word;
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::string udp4_packet(const char* to, std::uint16_t port, const std::string& payload, const char* from) {
  udphdr udp{};  // checksum 0: none
  udp.uh_sport = htons(40000);
  udp.uh_dport = htons(port);
  udp.uh_ulen = htons(static_cast<std::uint16_t>(sizeof(udp) + payload.size()));
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.tot_len = htons(static_cast<std::uint16_t>(sizeof(ip) + sizeof(udp) + payload.size()));
  ip.ttl = 64;
  ip.protocol = IPPROTO_UDP;
  inet_pton(AF_INET, from, &ip.saddr);
  inet_pton(AF_INET, to, &ip.daddr);
  ip.check = internet_checksum(bytes_of(ip));
  return bytes_of(ip) + bytes_of(udp) + payload;
}

void send_on_loopback(const Fd& fd, const std::string& packet) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_IP);
  to.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
  to.sll_halen = ETH_ALEN;
  must(sendto(fd.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to)), "sendto");
}

std::string echo_request(bool v6, const std::string& payload) {
  if (v6) {
    icmp6_hdr header{};  // the kernel fills in the checksum
    header.icmp6_type = ICMP6_ECHO_REQUEST;
    return bytes_of(header) + payload;
  }
  icmphdr header{};
  header.type = ICMP_ECHO;
  header.checksum = internet_checksum(bytes_of(header) + payload);
  return bytes_of(header) + payload;
}

}  // namespace attack
