// SPDX-License-Identifier: Apache-2.0
#include "cli/input.h"

#include <fmt/core.h>
#include <algorithm>
#include <charconv>
#include <map>

namespace sbpf::cli {
namespace {

constexpr const char* kEndpointHint = "write ADDRESS:PORT: 192.0.2.1:443 or [2001:db8::1]:443";
constexpr const char* kTimeoutHint = "write a number and a unit: 500ms, 90s, 10m, 2h";
constexpr std::uint64_t kLongestTimeoutMs = 365ull * 24 * 3600 * 1000;

// Digits and nothing else; from_chars alone would stop at the first other character.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> unit_ms(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s" || unit.empty()) return 1000;
  if (unit == "m") return 60 * 1000;
  if (unit == "h") return 3600 * 1000;
  if (unit == "d") return 24 * 3600 * 1000;
  return std::nullopt;
}

// Of a variable; the first counts, as for getenv.
std::optional<std::string> value_of(const std::string& name, std::span<const std::string> variables) {
  for (const std::string& entry : variables)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return std::nullopt;
}

}  // namespace

Result<AddressPort> parse_address_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return fail("usage", fmt::format("{} has no port", text), kEndpointHint);
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  // Without brackets the last group of a v6 address would be taken for a port.
  if (bracketed != (host.find(':') != std::string_view::npos))
    return fail("usage", fmt::format("{}: a v6 address, and only that, goes into brackets", text), kEndpointHint);

  const auto address = policy::parse_address(host);
  if (!address)
    return fail("usage", fmt::format("'{}' is not an address", host),
                "an address, or for connect and send the name of a host");
  const auto port = parse_number(text.substr(colon + 1));
  if (!port || *port > 65535)
    return fail("usage", fmt::format("'{}' is not a port (0 to 65535)", text.substr(colon + 1)), kEndpointHint);
  return AddressPort{*address, static_cast<std::uint16_t>(*port)};
}

std::optional<NamePort> parse_name_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !policy::is_host_name(text.substr(0, colon))) return std::nullopt;
  const auto port = parse_number(text.substr(colon + 1));
  if (!port || *port == 0 || *port > 65535) return std::nullopt;
  return NamePort{std::string(text.substr(0, colon)), static_cast<std::uint16_t>(*port)};
}

std::string to_string(const AddressPort& endpoint) {
  const std::string address = policy::to_string(endpoint.address);
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(endpoint.port);
}

Result<policy::NetQuery> parse_question(std::string_view operation, std::string_view endpoint,
                                        std::string_view protocol) {
  policy::NetQuery query;
  if (operation == "bind")
    query.kind = SBPF_RULE_BIND;
  else if (operation == "connect" || operation == "send")
    query.kind = SBPF_RULE_CONNECT;
  else
    return fail("usage", fmt::format("'{}' is not an operation", operation),
                "connect, bind, send, open, create, delete, rename or exec");

  if (protocol.empty()) protocol = operation == "send" ? "udp" : "tcp";
  if (protocol != "tcp" && protocol != "udp")
    return fail("usage", fmt::format("'{}' is not a protocol", protocol), "tcp or udp");
  query.proto = protocol == "tcp" ? SBPF_PROTO_TCP : SBPF_PROTO_UDP;

  auto parsed = parse_address_port(endpoint);
  if (!parsed) return tl::unexpected<Error>(parsed.error());
  if (parsed->port == 0 && query.kind == SBPF_RULE_CONNECT)
    return fail("usage", "port 0 is no destination", "only bind takes it: the kernel then picks a port");
  query.address = parsed->address;
  query.port = parsed->port;
  return query;
}

bool is_file_operation(std::string_view word) {
  return word == "open" || word == "create" || word == "delete" || word == "rename" || word == "exec";
}

Result<FileQuestion> parse_file_question(std::string_view operation, std::string_view path, std::string_view access) {
  FileQuestion question;
  if (operation == "open") {
    question.access = access.empty() ? "r" : access;
    if (question.access != "r" && question.access != "w" && question.access != "rw")
      return fail("usage", fmt::format("'{}' is not an access", access), "r, w or rw");
    question.operation = question.access == "r" ? policy::FsOperation::read : policy::FsOperation::write;
  } else if (operation == "create") {
    question.operation = policy::FsOperation::create;
  } else if (operation == "delete") {
    question.operation = policy::FsOperation::remove;
  } else if (operation == "rename") {
    question.operation = policy::FsOperation::rename;
  } else if (operation == "exec") {
    question.operation = policy::FsOperation::exec;
  } else {
    return fail("usage", fmt::format("'{}' is not an operation on files", operation),
                "open, create, delete, rename or exec");
  }
  if (operation != "open" && !access.empty())
    return fail("usage", fmt::format("unexpected argument '{}'", access), "r, w and rw go with open");
  if (path.empty() || path[0] != '/')
    return fail("usage", fmt::format("'{}' is not an absolute path", path), "write the whole path, from / on");
  return question;
}

Result<std::chrono::milliseconds> parse_timeout(std::string_view text) {
  const auto bad = [&](const char* why) {
    return fail("usage", fmt::format("timeout '{}' {}", text, why), kTimeoutHint);
  };
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto unit = unit_ms(text.substr(end));
  const std::string_view number = text.substr(0, end);
  const std::size_t dot = std::min(number.find('.'), number.size());
  const auto whole = parse_number(number.substr(0, dot));
  if (!unit || !whole) return bad("is not a duration");
  if (*whole > kLongestTimeoutMs / *unit) return bad("is longer than a year");

  std::uint64_t ms = *whole * *unit;
  if (dot < number.size()) {
    const std::string_view digits = number.substr(dot + 1, 9);
    const auto fraction = parse_number(digits);
    if (!fraction || number.size() - dot - 1 > digits.size()) return bad("is not a duration");
    std::uint64_t scale = 1;
    for (std::size_t i = 0; i < digits.size(); i++) scale *= 10;
    ms += *fraction * *unit / scale;  // at most 10^9 * 86.4 * 10^6: fits
  }
  if (ms == 0) return bad("is zero");
  return std::chrono::milliseconds(ms);
}

std::optional<std::chrono::milliseconds> earlier(std::optional<std::chrono::milliseconds> a,
                                                 std::optional<std::chrono::milliseconds> b) {
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

bool env_allowed(std::string_view name, std::span<const std::string> allow) {
  return std::ranges::any_of(allow, [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    return name.starts_with(pattern.substr(0, pattern.size() - 1)) && !policy::env_by_name_only(name);
  });
}

Result<std::vector<std::string>> build_env(const policy::Env& policy, std::span<const std::string> inherited,
                                           std::span<const std::string> given, std::span<const std::string> own) {
  std::map<std::string, std::string> values;
  for (const std::string& entry : inherited) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;  // no name that a policy could allow
    const std::string name = entry.substr(0, equals);
    if (env_allowed(name, policy.allow)) values.try_emplace(name, entry.substr(equals + 1));
  }
  for (const auto& [name, value] : policy.set) values[name] = value;
  for (const std::string& entry : given) {
    const std::size_t equals = entry.find('=');
    const bool by_name = equals == std::string::npos && !entry.empty();
    const auto found = by_name ? value_of(entry, own) : std::nullopt;
    if (equals == 0 || entry.empty() || (by_name && !found))
      return fail("usage",  // the entry is not echoed: it may be a secret
                  by_name ? "sbpf's own environment has no variable by the name that is given to --env"
                          : "--env needs NAME=VALUE, or NAME",
                  "--env NAME hands over the variable that sbpf itself was started with: export it first");
    values[entry.substr(0, equals)] = by_name ? *found : entry.substr(equals + 1);
  }
  std::vector<std::string> environment;
  environment.reserve(values.size());
  for (const auto& [name, value] : values) environment.emplace_back(name).append("=").append(value);
  return environment;
}

std::vector<std::string> env_strings(char* const* environment) {
  std::vector<std::string> strings;
  for (; environment != nullptr && *environment != nullptr; environment++) strings.emplace_back(*environment);
  return strings;
}

}  // namespace sbpf::cli
