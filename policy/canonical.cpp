// SPDX-License-Identifier: Apache-2.0
// Policy -> its one spelling. Everything is written out, in one order; parse() gives the same policy back.
#include <algorithm>
#include <cctype>

#include "base/sha256.h"
#include "base/utf8.h"
#include "policy/entry_text.h"
#include "policy/values.h"

namespace sbpf::policy {
namespace internal {
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
  return c == 0xfffe || c == 0xffff || c == 0xfeff || c == 0x61c || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f);
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
    text += ", via: {address: " + quoted_v6(via->address, policy::to_string(via->address)) + ", port: " +
            std::to_string(via->port) + "}";
  return text + "}";
}

}  // namespace

std::string entry_text(const HostRule& rule) {
  return "{host: \"" + rule.pattern + "\"" + ports_text(rule.ports, rule.protocol, rule.via);
}

std::string entry_text(const Endpoint& endpoint) {
  const bool one = endpoint.prefix == 128;
  return (one ? "{address: " : "{cidr: ") +
         quoted_v6(endpoint.address, one ? policy::to_string(endpoint.address) : cidr_text(endpoint.address, endpoint.prefix)) +
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
  return "filesystem." + std::string(policy::to_string(rule.access)) + ": " + path_text(rule.path);
}

std::string entry_text(const ExecRule& rule) {
  const char* key = !rule.sha256.empty() ? "sha256: " : rule.allow ? "allow: " : "deny: ";
  return std::string("process.exec.") + key + path_text(rule.path);
}

std::string entry_text(const UnixRule& rule) { return "network.unix: " + path_text(rule.peer); }

std::string located(const Location& where, std::string text) {
  constexpr std::size_t kLongest = 160;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  if (where.line == 0) return text;
  return where.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) + ": " + text;
}

}  // namespace internal

namespace {

using internal::entry_text;
using internal::scalar_text;

std::string entries_text(std::string_view key, const std::vector<Endpoint>& entries, const std::vector<HostRule>& hosts) {
  std::string text = "  " + std::string(key) + ":" + (entries.empty() && hosts.empty() ? " []" : "") + "\n";
  for (const Endpoint& entry : entries) text += "    - " + entry_text(entry) + "\n";
  for (const HostRule& rule : hosts) text += "    - " + entry_text(rule) + "\n";
  return text;
}

std::string network_text(const Network& network) {
  std::string text = "network:\n";
  text += entries_text("connect", network.connect, network.hosts);
  text += entries_text("bind", network.bind, {});
  text += std::string("  dangerously_allow_all: ") + (network.dangerously_allow_all ? "true" : "false") + "\n";
  text += std::string("  dangerously_allow_metadata: ") + (network.dangerously_allow_metadata ? "true" : "false") + "\n";
  text += "  dangerously_allow_sockets: [";
  for (std::size_t i = 0; i < network.dangerously_allow_sockets.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::string(to_string(network.dangerously_allow_sockets[i]));
  text += "]\n";
  // Nothing at all where there are none.
  if (network.record_flows) text += "  record_flows: true\n";
  if (network.resolver) text += "  dns: {resolver: \"" + to_string(*network.resolver) + "\"}\n";
  if (!network.trusted_programs.empty()) text += "  trusted_programs:\n";
  for (const ProgramTag& tag : network.trusted_programs) text += "    - \"" + hex(tag) + "\"\n";
  if (!network.interfaces.empty()) text += "  interfaces:\n";
  for (const std::string& name : network.interfaces) text += "    - \"" + name + "\"\n";
  if (!network.unix_peers.empty()) text += "  unix:\n";
  for (const UnixRule& rule : network.unix_peers) text += "    - " + internal::path_text(rule.peer) + "\n";
  return text;
}

// Nothing at all for a policy without the section: to write it out would ask for it.
std::string filesystem_text(const Filesystem& filesystem) {
  if (!filesystem.requested) return "";
  if (filesystem.dangerously_allow_all) return "filesystem:\n  dangerously_allow_all: true\n";
  std::string text = "filesystem:\n  default: " + std::string(to_string(filesystem.fallback)) + "\n";
  for (const FsAccess access : {FsAccess::read, FsAccess::write, FsAccess::deny, FsAccess::protect}) {
    std::string paths;
    for (const FsRule& rule : filesystem.rules)
      if (rule.access == access) paths += "    - " + internal::path_text(rule.path) + "\n";
    text += "  " + std::string(to_string(access)) + ":" + (paths.empty() ? " []" : "") + "\n" + paths;
  }
  return text + "  dangerously_allow_all: false\n";
}

// Nothing at all for a policy that judges no programs, as above.
std::string exec_text(const Exec& exec) {
  if (!exec.judged()) return "";
  std::string text = "  exec:\n";
  for (const bool allow : {true, false}) {
    if (allow && !exec.allow_listed) continue;
    std::string paths;
    for (const ExecRule& rule : exec.rules)
      if (rule.allow == allow && rule.sha256.empty()) paths += "      - " + internal::path_text(rule.path) + "\n";
    text += std::string(allow ? "    allow:" : "    deny:") + (paths.empty() ? " []" : "") + "\n" + paths;
  }
  std::string pins;
  for (const ExecRule& rule : exec.rules)
    if (!rule.sha256.empty()) pins += "      " + internal::path_text(rule.path) + ": \"" + rule.sha256 + "\"\n";
  if (!pins.empty()) text += "    sha256:\n" + pins;
  return text + "    deny_writable: " + (exec.deny_writable ? "true" : "false") + "\n";
}

std::string env_text(const Env& env) {
  std::string text = "  env:\n    allow: [";
  for (std::size_t i = 0; i < env.allow.size(); ++i) text += (i == 0 ? "" : ", ") + scalar_text(env.allow[i]);
  text += "]\n    set:";
  if (env.set.empty()) return text + " {}\n";
  text += "\n";
  for (const auto& [name, value] : env.set) {
    std::string value_text = scalar_text(value);
    if (value_text[0] != '"') value_text = "\"" + value_text + "\"";
    text += "      " + scalar_text(name) + ": " + value_text + "\n";
  }
  return text;
}

std::string limits_text(const Limits& limits) {
  std::string text;
  if (limits.processes) text += "    processes: " + std::to_string(*limits.processes) + "\n";
  if (limits.memory_bytes) text += "    memory: " + internal::memory_text(*limits.memory_bytes) + "\n";
  if (limits.cpu_millis) text += "    cpu: " + internal::cpu_text(*limits.cpu_millis) + "\n";
  if (limits.timeout) text += "    timeout: " + internal::timeout_text(*limits.timeout) + "\n";
  const auto size = [&text](const char* key, const std::optional<std::uint64_t>& bytes) {
    if (bytes) text += std::string("    ") + key + ": " + internal::memory_text(*bytes) + "\n";
  };
  if (limits.open_files) text += "    open_files: " + std::to_string(*limits.open_files) + "\n";
  size("file_size", limits.file_size);
  size("core", limits.core);
  size("stack", limits.stack);
  size("locked_memory", limits.locked_memory);
  return text.empty() ? "  limits: {}\n" : "  limits:\n" + text;
}

template <typename T, typename Text>
std::string words_text(const char* key, const std::vector<T>& values, const Text& text_of) {
  std::string text = std::string("    ") + key + ": [";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + std::string(text_of(values[i]));
  return text + "]\n";
}

std::string kernel_text(const KernelAccess& kernel) {
  const auto interface = [](sbpf_kernel_interface i) { return to_string(i); };
  return "  kernel:\n" + words_text("allow", kernel.allow, interface) + words_text("deny", kernel.deny, interface) +
         words_text("dangerously_allow_capabilities", kernel.dangerously_allow_capabilities, capability_name);
}

// A profile from a file is named by its content, too.
std::string launch_text(const Launch& launch) {
  const Seccomp& seccomp = launch.seccomp;
  std::string text = "  seccomp: ";
  if (seccomp.kind != SeccompKind::file)
    text += to_string(seccomp.kind);
  else
    text += "{file: " + scalar_text(internal::escaped_path(seccomp.path)) + (seccomp.sha256.empty() ? "" : ", sha256: \"" + seccomp.sha256 + "\"") + "}";
  text += "\n  capabilities: ";
  std::string names;
  for (const unsigned number : launch.capabilities.keep)
    names += (names.empty() ? "" : ", ") + capability_name(number);
  text += launch.capabilities.dangerously_all ? "dangerously_all" : "[" + names + "]";
  if (launch.user) {
    std::string groups;
    for (const std::uint32_t group : launch.user->groups) groups += (groups.empty() ? "" : ", ") + std::to_string(group);
    text += "\n  user: {uid: " + std::to_string(launch.user->uid) + ", gid: " + std::to_string(launch.user->gid) +
            ", groups: [" + groups + "]}";
  }
  return text + "\n  dangerously_allow_new_privileges: " +
         (launch.dangerously_allow_new_privileges ? "true" : "false") + "\n";
}

// Nothing at all where there are none.
std::string secrets_text(const std::vector<Secret>& secrets) {
  std::string text = secrets.empty() ? "" : "  secrets:\n";
  for (const Secret& secret : secrets) {
    text += "    - {name: " + scalar_text(secret.name);
    switch (secret.source) {
      case Secret::Source::file:
        text += ", file: " + internal::path_text(secret.from);
        break;
      case Secret::Source::credential:
        text += ", credential: " + scalar_text(secret.from);
        break;
      case Secret::Source::standard_input:
        text += ", stdin: true";
        break;
    }
    text += ", as: " + std::string(to_string(secret.form)) + "}\n";
  }
  return text;
}

}  // namespace

std::string canonical(const Policy& policy) {
  std::string text = "version: 1\nname: " + scalar_text(policy.name) + "\n";
  text += "mode: " + std::string(to_string(policy.mode)) + "\n";
  text += "on_loss: " + std::string(to_string(policy.on_loss)) + "\n";
  text += network_text(policy.network) + filesystem_text(policy.filesystem);
  return text + "process:\n" + exec_text(policy.exec) + env_text(policy.env) + limits_text(policy.limits) +
         launch_text(policy.launch) + kernel_text(policy.kernel) + secrets_text(policy.secrets);
}

std::array<std::uint8_t, 32> sha256(const Policy& policy) {
  const std::string text = canonical(policy);
  Sha256 digest;
  digest.add(text.data(), text.size());
  return digest.finish();
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text += {kHex[byte >> 4], kHex[byte & 0xf]};
  return text;
}

}  // namespace sbpf::policy
