// SPDX-License-Identifier: Apache-2.0
// Scalars and entries of the canonical text.
#include "policy/entry_text.h"

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "policy/values.h"

namespace sbpf::policy::internal {
namespace {

// Words that some YAML version takes for something else than a text.
bool reserved(std::string_view text) {
  static constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
}

// No characters, or none that is seen, of those of two and three bytes.
bool is_unprintable(char32_t c) {
  return c == 0xfffe || c == 0xffff || c == 0xfeff || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f);
}

bool plain(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) && !reserved(text) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

std::string scalar_text(std::string_view text) {
  if (plain(text)) return std::string(text);
  std::string quoted = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    constexpr char kHex[] = "0123456789abcdef";
    if (c == '"' || c == '\\') {
      quoted += {'\\', text[i]};
    } else if (c < 0x20 || c == 0x7f) {
      quoted += {'\\', 'x', kHex[c >> 4], kHex[c & 0xf]};
    } else if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      // U+0080 to U+009f are control characters too, which parse() refuses when they are not escaped.
      const auto c2 = static_cast<unsigned char>(text[++i]);
      quoted += {'\\', 'x', kHex[c2 >> 4], kHex[c2 & 0xf]};
    } else if (const Utf8 one = utf8_at(text, i); one.bytes > 1 && is_unprintable(one.character)) {
      quoted += "\\u";  // no characters, and refused likewise; or what a terminal acts on, and is not shown as it is
      for (int shift = 12; shift >= 0; shift -= 4) quoted += kHex[one.character >> shift & 0xf];
      i += one.bytes - 1;
    } else {
      quoted += text[i];
    }
  }
  return quoted + "\"";
}

namespace {

// IPv6 in quotes: "::1" is a text, but a plain ::1 within {} is where YAML readers differ.
std::string quoted_v6(const Address& address, const std::string& text) {
  return is_v4(address) ? text : "\"" + text + "\"";
}

// What the entries of connect and bind end with.
std::string ports_text(const std::vector<PortRange>& ports, Protocol protocol, const std::optional<Via>& via) {
  std::string text = ", ports: [";
  for (std::size_t i = 0; i < ports.size(); ++i) text += (i == 0 ? "" : ", ") + to_string(ports[i]);
  text += "], protocol: " + std::string(policy::to_string(protocol));
  if (via)
    text += ", via: {address: " + quoted_v6(via->address, policy::to_string(via->address)) +
            ", port: " + std::to_string(via->port) + "}";
  return text + "}";
}

}  // namespace

std::string entry_text(const HostRule& rule) {
  return "{host: \"" + rule.pattern + "\"" + ports_text(rule.ports, rule.protocol, rule.via);
}

std::string entry_text(const Endpoint& endpoint) {
  const bool one = endpoint.prefix == 128;
  return (one ? "{address: " : "{cidr: ") +
         quoted_v6(endpoint.address,
                   one ? policy::to_string(endpoint.address) : cidr_text(endpoint.address, endpoint.prefix)) +
         ports_text(endpoint.ports, endpoint.protocol, endpoint.via);
}

std::string path_text(std::string_view path) {
  const auto harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
           c == '_' || c == '-' || c == '+';
  };
  return std::all_of(path.begin(), path.end(), harmless) ? std::string(path) : scalar_text(escaped_path(path));
}

std::string entry_text(const FsRule& rule) {
  return fmt::format("filesystem.{}: {}", policy::to_string(rule.access), path_text(rule.path));
}

std::string entry_text(const ExecRule& rule) {
  const char* key = !rule.sha256.empty() ? "sha256: " : rule.allow ? "allow: " : "deny: ";
  return std::string("process.exec.") + key + path_text(rule.path);
}

std::string entry_text(const UnixRule& rule) { return fmt::format("network.unix: {}", path_text(rule.peer)); }

std::string located(const Location& where, std::string text) {
  constexpr std::size_t kLongest = 160;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  if (where.line == 0) return text;
  return fmt::format("{}:{}:{}: {}", where.file, where.line, where.column, text);
}

}  // namespace sbpf::policy::internal
