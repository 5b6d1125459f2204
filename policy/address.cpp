// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>

#include <fmt/core.h>
#include <algorithm>
#include <cctype>
#include <cstring>

#include "policy/values.h"

namespace sbpf::policy {
namespace {

constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned kMappedBits = 96;

void clear_host_bits(Address& address, unsigned prefix) {
  for (unsigned bit = prefix; bit < 128; ++bit)
    address[bit / 8] = static_cast<std::uint8_t>(address[bit / 8] & ~(0x80u >> (bit % 8)));
}

bool looks_like_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return text.find(':') == std::string_view::npos &&
         (std::any_of(text.begin(), text.end(), letter) || text.find('*') != std::string_view::npos);
}

std::string address_hint(std::string_view text) {
  if (looks_like_name(text)) return "a name is written as host: instead of address:";
  if (text.find('%') != std::string_view::npos) return "remove the zone: the address is matched on every interface";
  if (text.find('[') != std::string_view::npos) return "write the address without brackets, and the port in ports";
  const auto colons = std::count(text.begin(), text.end(), ':');
  if (colons == 1) return "write the port in ports";
  return "write four decimal numbers as in 10.0.0.1, or an IPv6 address as in 2001:db8::1";
}

}  // namespace

std::string to_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (internal::is_v4(address))
    ::inet_ntop(AF_INET, address.data() + sizeof kMappedPrefix, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, address.data(), text, sizeof text);
  return text;
}

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text);
  if (copy.find('\0') != std::string::npos) return std::nullopt;  // inet_pton would stop there
  Address address{};
  std::memcpy(address.data(), kMappedPrefix, sizeof kMappedPrefix);
  if (::inet_pton(AF_INET, copy.c_str(), address.data() + sizeof kMappedPrefix) == 1) return address;
  if (::inet_pton(AF_INET6, copy.c_str(), address.data()) == 1) return address;
  return std::nullopt;
}

Address address_from(const void* bytes, std::size_t size) {
  Address address{};
  std::memcpy(address.data(), kMappedPrefix, sizeof kMappedPrefix);
  std::memcpy(address.data() + (address.size() - size), bytes, size);
  return address;
}

namespace internal {

bool is_v4(const Address& address) { return std::memcmp(address.data(), kMappedPrefix, sizeof kMappedPrefix) == 0; }

std::string cidr_text(const Address& address, std::uint8_t prefix) {
  const bool v4 = is_v4(address) && prefix >= kMappedBits;
  return policy::to_string(address) + "/" + std::to_string(v4 ? prefix - kMappedBits : prefix);
}

Value<Address> parse_host(std::string_view text) {
  if (auto address = parse_address(text)) return *address;
  if (text.find('/') != std::string_view::npos && parse_cidr(text))
    return tl::unexpected(BadValue{"bad_address", fmt::format("{} is a network", quoted(text)),
                                   fmt::format("write cidr: {}", shown(text))});
  const char* what = looks_like_name(text) ? " is a name, not an address" : " is not an IPv4 or IPv6 address";
  return tl::unexpected(BadValue{"bad_address", quoted(text) + what, address_hint(text)});
}

Value<Prefix> parse_cidr(std::string_view text) {
  const std::string written = quoted(text);
  const auto slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address)
    return tl::unexpected(BadValue{"bad_cidr", fmt::format("{} is not a network such as 10.0.0.0/8", written),
                                   address_hint(text.substr(0, slash))});
  if (slash == std::string_view::npos)
    return tl::unexpected(BadValue{"bad_cidr", fmt::format("{} has no prefix length", written),
                                   fmt::format("write address: {}, or add a length as in 10.0.0.0/8", shown(text))});
  // A v4-mapped network may be spelled either way; its length counts from the start of what is written.
  const bool dotted = text.substr(0, slash).find(':') == std::string_view::npos;
  const std::string_view digits = text.substr(slash + 1);
  const auto length = parse_number(digits);
  const unsigned longest = dotted ? 32 : 128;
  if (!length || *length > longest || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0'))
    return tl::unexpected(
        BadValue{"bad_cidr", fmt::format("the prefix length of {} is not a number from 0 to {}", written, longest),
                 "for one host, use address"});
  const Prefix prefix{*address, static_cast<std::uint8_t>(*length + (dotted ? kMappedBits : 0))};
  Prefix masked = prefix;
  clear_host_bits(masked.address, prefix.length);
  if (masked.address != prefix.address)
    return tl::unexpected(BadValue{"host_bits", fmt::format("{} has bits set beyond its prefix length", written),
                                   fmt::format("write {} for the network, or the address alone for the host",
                                               cidr_text(masked.address, masked.length))});
  Address mapped{};
  std::memcpy(mapped.data(), kMappedPrefix, sizeof kMappedPrefix);
  clear_host_bits(mapped, prefix.length);
  // Rules are matched on mapped addresses, so that ::/0 would silently open all of IPv4 too.
  if (prefix.length < kMappedBits && mapped == prefix.address)
    return tl::unexpected(BadValue{"covers_v4",
                                   fmt::format("{} would cover every IPv4 address too (::ffff:0:0/96)", written),
                                   "write 2000::/3 for the IPv6 internet, and 0.0.0.0/0 for IPv4"});
  return prefix;
}

// As the kernel takes names (dev_valid_name), but for bytes that a terminal or YAML would take for something else.
Value<std::string> parse_interface(std::string_view text) {
  constexpr std::size_t kLongest = 15;  // IFNAMSIZ, without the NUL
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("._-@+", c) != nullptr;
  };
  if (text.empty() || text.size() > kLongest || text == "." || text == ".." ||
      !std::all_of(text.begin(), text.end(), is_plain))
    return tl::unexpected(BadValue{"bad_interface", fmt::format("{} is no name of a network interface", quoted(text)),
                                   "up to 15 letters, digits and ._-@+, as `ip link` says it: eth0"});
  return std::string(text);
}

}  // namespace internal
}  // namespace sbpf::policy
