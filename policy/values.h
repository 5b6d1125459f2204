// SPDX-License-Identifier: Apache-2.0
// The texts of single values: sizes, times, ports, addresses, names. Internal to policy/.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace sbpf::policy::internal {

// The error of a value; the reader adds place and key.
struct BadValue {
  std::string code;
  std::string message;
  std::string hint;
};

template <typename T>
using Value = tl::expected<T, BadValue>;

struct Prefix {
  Address address{};
  std::uint8_t length = 128;  // of the mapped address
};

// A text from a policy as a message may show it: control characters as escapes, so that a policy cannot talk to the
// reader's terminal, and cut when long. `quoted` adds quotes.
std::string shown(std::string_view text);
std::string quoted(std::string_view text);

// Digits only; nullopt on anything else, on overflow, and on zeros before the number, which others read as octal.
std::optional<std::uint64_t> parse_number(std::string_view text);

Value<PortRange> parse_ports(std::string_view text, std::uint16_t lowest);  // "443" or "6000-6010"
Value<Address> parse_host(std::string_view text);                           // of `address`
Value<Prefix> parse_cidr(std::string_view text);
Value<std::uint64_t> parse_memory(std::string_view text);
Value<std::uint32_t> parse_cpu(std::string_view text);
Value<std::chrono::milliseconds> parse_timeout(std::string_view text);
// Of a filesystem rule. \* \? \[ \] stand for the characters themselves.
Value<std::string> parse_path(std::string_view text);
Value<std::string> parse_host_pattern(std::string_view text);  // of `host`
Value<std::string> parse_interface(std::string_view text);     // of network.interfaces
Value<std::string> parse_unix_peer(std::string_view text);     // of network.unix
Value<std::string> parse_sha256(std::string_view text);        // 64 lower-case hexadecimal digits

bool valid_policy_name(std::string_view text);
bool is_file_reference(std::string_view text);  // of extends: "./base.yaml", "../base.yaml" or "/srv/base.yaml"
// What `written` in the file `from` leads to; `from` is "", or such a reference itself. A `..` stays: behind a link it
// leads elsewhere than the text says.
std::string file_reference(std::string_view from, std::string_view written);
bool valid_env_name(std::string_view text);

// Is `path` this directory, or below it? Both without a slash at the end.
bool within(std::string_view path, std::string_view directory);

bool is_v4(const Address& address);
std::string to_string(const PortRange& range);  // "443" or "6000-6010"
std::string cidr_text(const Address& address, std::uint8_t prefix);
std::string cpu_text(std::uint32_t millis);                   // "1.5"
std::string timeout_text(std::chrono::milliseconds timeout);  // "1h30m"

// Sorted, and joined where they overlap or touch.
std::vector<PortRange> normal_ports(std::vector<PortRange> ports);

}  // namespace sbpf::policy::internal
