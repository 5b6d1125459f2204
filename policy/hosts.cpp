// SPDX-License-Identifier: Apache-2.0
// Which names fall under which patterns, and where a name may lead.
#include <algorithm>
#include <array>

#include "policy/image.h"
#include "policy/policy.h"
#include "policy/values.h"

namespace sbpf::policy {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

struct Network4 {
  std::uint32_t address;
  unsigned length;
};

// IANA's registry of addresses for special purposes, and multicast.
constexpr std::array kNotPublic4 = {
    Network4{0x00000000, 8},  Network4{0x0a000000, 8},  Network4{0x64400000, 10}, Network4{0x7f000000, 8},
    Network4{0xa9fe0000, 16}, Network4{0xac100000, 12}, Network4{0xc0000000, 24}, Network4{0xc0000200, 24},
    Network4{0xc0586300, 24}, Network4{0xc0a80000, 16}, Network4{0xc6120000, 15}, Network4{0xc6336400, 24},
    Network4{0xcb007100, 24}, Network4{0xe0000000, 3},
};

std::uint32_t word(const Address& address, std::size_t at) {
  return std::uint32_t{address[at]} << 24 | std::uint32_t{address[at + 1]} << 16 | std::uint32_t{address[at + 2]} << 8 |
         address[at + 3];
}

bool is_public_v4(std::uint32_t v4) {
  return std::none_of(kNotPublic4.begin(), kNotPublic4.end(),
                      [v4](const Network4& network) { return (v4 ^ network.address) >> (32 - network.length) == 0; });
}

}  // namespace

bool is_host_name(std::string_view text) {
  return internal::parse_host_pattern(text).has_value() && text.find('*') == std::string_view::npos;
}

bool is_public(const Address& address) {
  NetQuery query;
  query.address = address;
  if (is_metadata(query)) return false;
  const std::uint32_t first = word(address, 0), second = word(address, 4);
  const bool is_mapped = first == 0 && second == 0 && word(address, 8) == 0xffff;
  if (is_mapped) return is_public_v4(word(address, 12));
  // NAT64 leads to the IPv4 address at its end.
  if (first == 0x0064ff9b && second == 0 && word(address, 8) == 0) return is_public_v4(word(address, 12));
  // Global unicast, but for documentation, the registry of special purposes (2001::/23, with Teredo), and 6to4, which
  // leads to IPv4 addresses.
  return first >> 29 == 1 && first != 0x20010db8 && first >> 9 != 0x20010000u >> 9 && first >> 16 != 0x2002 &&
         first >> 12 != 0x3fff0000u >> 12;
}

bool is_nobodys(std::string_view name) { return name == "invalid" || name.ends_with(".invalid"); }

bool may_lead_to(const Network& network, const Address& address) {
  return is_public(address) || std::any_of(network.connect.begin(), network.connect.end(), [&](const Endpoint& entry) {
           for (unsigned bit = 0; bit < entry.prefix; ++bit)
             if (((entry.address[bit / 8] ^ address[bit / 8]) & 0x80u >> bit % 8) != 0) return false;
           return true;
         });
}

bool host_matches(std::string_view pattern, std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  const bool any_depth = pattern.starts_with("**."), one_label = !any_depth && pattern.starts_with("*.");
  if (!any_depth && !one_label) return same_letters(pattern, name);
  const std::string_view below = pattern.substr(any_depth ? 2 : 1);  // with its dot
  if (name.size() <= below.size() || !same_letters(name.substr(name.size() - below.size()), below)) return false;
  const std::string_view first = name.substr(0, name.size() - below.size());
  return any_depth ? first.front() != '.' : first.find('.') == std::string_view::npos;
}

}  // namespace sbpf::policy
