// SPDX-License-Identifier: Apache-2.0
// The reference model of network rules, by which random system calls are judged (tests/live/net_differential.cpp). It
// knows rules as a person writes them and looks at each in turn; it has nothing of the product's tables. Depends on
// nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sbpf::net_model {

enum class Proto { tcp, udp };

// IPv4 as it is mapped into IPv6, so that one address has one spelling.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const Address&, const Address&) = default;
};

inline bool is_v4(const Address& address) {
  for (std::size_t i = 0; i < 10; i++)
    if (address.bytes[i] != 0) return false;
  return address.bytes[10] == 0xff && address.bytes[11] == 0xff;
}

struct Rule {
  Address address;
  int bits = 128;  // of the mapped spelling: an IPv4 /24 has 120
  int first = 0, last = 0;
  bool tcp = false, udp = false;
};

struct Policy {
  std::vector<Rule> connect, bind;
};

inline bool covers(const Rule& rule, const Address& address) {
  if (is_v4(rule.address) != is_v4(address)) return false;
  for (int bit = 0; bit < rule.bits; bit++) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if (((rule.address.bytes[byte] ^ address.bytes[byte]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

// The link-local network of IPv4, in which clouds keep their metadata: open by no rule.
inline bool is_metadata(const Address& address) {
  return is_v4(address) && address.bytes[12] == 169 && address.bytes[13] == 254;
}

inline bool allows(const std::vector<Rule>& rules, const Address& address, int port, Proto proto) {
  if (is_metadata(address)) return false;
  for (const Rule& rule : rules)
    if (covers(rule, address) && port >= rule.first && port <= rule.last && (proto == Proto::tcp ? rule.tcp : rule.udp))
      return true;
  return false;
}

// A connection to no address of its own goes to this host: a rule for it is one that names it, or a network with
// loopback in it.
inline bool allows_connect(const std::vector<Rule>& rules, const Address& address, int port, Proto proto) {
  Address loopback = address, mapped_any;
  mapped_any.bytes[10] = mapped_any.bytes[11] = 0xff;
  if (address != Address{} && address != mapped_any) return allows(rules, address, port, proto);
  if (is_v4(address)) loopback.bytes[12] = 127;
  loopback.bytes[15] = 1;
  std::vector<Rule> fit;
  for (const Rule& rule : rules)
    if (rule.bits == 128 || covers(rule, loopback)) fit.push_back(rule);
  return allows(fit, address, port, proto);
}

// A bind to no address of its own is put on loopback, if that is what a rule allows.
inline bool allows_bind(const std::vector<Rule>& rules, const Address& address, int port, Proto proto) {
  if (allows(rules, address, port, proto)) return true;
  Address mapped_any, loopback4, loopback6;
  for (Address* mapped : {&mapped_any, &loopback4}) mapped->bytes[10] = mapped->bytes[11] = 0xff;
  loopback4.bytes[12] = 127;
  loopback4.bytes[15] = loopback6.bytes[15] = 1;
  const bool any6 = address == Address{};
  if (!any6 && address != mapped_any) return false;
  return allows(rules, loopback4, port, proto) || (any6 && allows(rules, loopback6, port, proto));
}

// Which sockets a program gets when no `dangerously_` key opens others: UNIX, TCP, UDP, and netlink's routes.
inline bool allows_socket(int family, int type, int protocol) {
  if (family == 1) return true;
  if (family == 16) return protocol == 0;
  if (family != 2 && family != 10) return false;
  return (type == 1 && (protocol == 0 || protocol == 6)) || (type == 2 && (protocol == 0 || protocol == 17));
}

}  // namespace sbpf::net_model
