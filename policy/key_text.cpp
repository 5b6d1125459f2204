// SPDX-License-Identifier: Apache-2.0
#include "policy/key_text.h"

#include <algorithm>

#include "policy/entry_text.h"
#include "policy/filesystem.h"

namespace sbpf::policy::internal {
namespace {

// "  connect:\n", and below it an item for each text; "  connect: []\n" without.
std::string block(const Key& key, const std::vector<std::string>& items) {
  std::string text = key.indent() + std::string(key.name()) + ":" + (items.empty() ? " []" : "") + "\n";
  for (const std::string& item : items) text += key.indent() + "  - " + item + "\n";
  return text;
}

// "  dangerously_allow_sockets: [ping, raw]\n"
template <typename Values, typename Text>
std::string row(const Key& key, const Values& values, const Text& text_of) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + std::string(text_of(value));
  return line(key, "[" + text + "]");
}

template <typename Values, typename Text>
std::vector<std::string> texts(const Values& values, const Text& text_of) {
  std::vector<std::string> all;
  for (const auto& value : values) all.push_back(text_of(value));
  return all;
}

std::string unless_empty(const Key& key, const std::vector<std::string>& items) {
  return items.empty() ? "" : block(key, items);
}

std::string in_quotes(const std::string& text) { return "\"" + text + "\""; }

// Paths of rules for which `wanted` holds.
template <typename Rule, typename Wanted>
std::vector<std::string> paths_of(const std::vector<Rule>& rules, const Wanted& wanted) {
  std::vector<std::string> paths;
  for (const Rule& rule : rules)
    if (wanted(rule)) paths.push_back(path_text(rule.path));
  return paths;
}

}  // namespace

std::string line(const Key& key, std::string_view value) {
  return key.indent() + std::string(key.name()) + ": " + std::string(value) + "\n";
}

std::string head_text(const Key& key, const Policy&) { return key.indent() + std::string(key.name()) + ":\n"; }

std::string version_text(const Key& key, const Policy&) { return line(key, "1"); }

std::string name_text(const Key& key, const Policy& policy) { return line(key, scalar_text(policy.name)); }

std::string connect_text(const Key& key, const Policy& policy) {
  std::vector<std::string> entries;
  for (const Endpoint& entry : policy.network.connect) entries.push_back(entry_text(entry));
  for (const HostRule& rule : policy.network.hosts) entries.push_back(entry_text(rule));
  return block(key, entries);
}

std::string bind_text(const Key& key, const Policy& policy) {
  return block(key, texts(policy.network.bind, [](const Endpoint& entry) { return entry_text(entry); }));
}

std::string sockets_text(const Key& key, const Policy& policy) {
  return row(key, policy.network.dangerously_allow_sockets, [](sbpf_socket_class c) { return policy::to_string(c); });
}

std::string dns_text(const Key& key, const Policy& policy) {
  const auto& resolver = policy.network.resolver;
  return resolver ? line(key, "{resolver: " + in_quotes(policy::to_string(*resolver)) + "}") : "";
}

std::string trusted_programs_text(const Key& key, const Policy& policy) {
  return unless_empty(
      key, texts(policy.network.trusted_programs, [](const ProgramTag& tag) { return in_quotes(hex(tag)); }));
}

std::string interfaces_text(const Key& key, const Policy& policy) {
  return unless_empty(key, texts(policy.network.interfaces, in_quotes));
}

std::string unix_text(const Key& key, const Policy& policy) {
  return unless_empty(key, texts(policy.network.unix_peers, [](const UnixRule& rule) { return path_text(rule.peer); }));
}

// To write the section out would ask for it.
std::string filesystem_text(const Key& key, const Policy& policy) {
  return policy.filesystem.requested ? head_text(key, policy) : "";
}

std::string fs_paths_text(const Key& key, const Policy& policy, FsAccess access) {
  if (!policy.filesystem.judged()) return "";
  // The text of a policy that has none is what it was before there were private places: its hash is in the kernel.
  if (access == FsAccess::private_place && private_places(policy).empty()) return "";
  return block(key, paths_of(policy.filesystem.rules, [access](const FsRule& rule) { return rule.access == access; }));
}

// As above.
std::string exec_text(const Key& key, const Policy& policy) {
  return policy.exec.judged() ? head_text(key, policy) : "";
}

std::string exec_allow_text(const Key& key, const Policy& policy) {
  if (!policy.exec.allow_listed) return "";
  return block(key,
               paths_of(policy.exec.rules, [](const ExecRule& rule) { return rule.allow && rule.sha256.empty(); }));
}

std::string exec_deny_text(const Key& key, const Policy& policy) {
  if (!policy.exec.judged()) return "";
  return block(key, paths_of(policy.exec.rules, [](const ExecRule& rule) { return !rule.allow; }));
}

std::string exec_sha256_text(const Key& key, const Policy& policy) {
  std::string text;
  for (const ExecRule& rule : policy.exec.rules)
    if (!rule.sha256.empty()) text += key.indent() + "  " + path_text(rule.path) + ": " + in_quotes(rule.sha256) + "\n";
  return text.empty() ? "" : head_text(key, policy) + text;
}

std::string env_allow_text(const Key& key, const Policy& policy) { return row(key, policy.env.allow, scalar_text); }

std::string env_set_text(const Key& key, const Policy& policy) {
  if (policy.env.set.empty()) return line(key, "{}");
  std::string text = head_text(key, policy);
  for (const auto& [name, value] : policy.env.set) {
    const std::string scalar = scalar_text(value);
    text += key.indent() + "  " + scalar_text(name) + ": " + (scalar[0] == '"' ? scalar : in_quotes(scalar)) + "\n";
  }
  return text;
}

std::string limits_text(const Key& key, const Policy& policy) {
  const bool any = std::ranges::any_of(
      keys(), [&](const Key& limit) { return limit.section() == key.path && !limit.write(limit, policy).empty(); });
  return any ? head_text(key, policy) : line(key, "{}");
}

// A profile from a file is named by its content, too.
std::string seccomp_text(const Key& key, const Policy& policy) {
  const Seccomp& seccomp = policy.launch.seccomp;
  if (seccomp.kind != SeccompKind::file) return line(key, policy::to_string(seccomp.kind));
  return line(key, "{file: " + scalar_text(escaped_path(seccomp.path)) +
                       (seccomp.sha256.empty() ? "" : ", sha256: \"" + seccomp.sha256 + "\"") + "}");
}

std::string capabilities_text(const Key& key, const Policy& policy) {
  const Capabilities& capabilities = policy.launch.capabilities;
  return capabilities.dangerously_all ? line(key, "dangerously_all") : row(key, capabilities.keep, capability_name);
}

std::string user_text(const Key& key, const Policy& policy) {
  const auto& user = policy.launch.user;
  if (!user) return "";
  std::string groups;
  for (const std::uint32_t group : user->groups) groups += (groups.empty() ? "" : ", ") + std::to_string(group);
  return line(key, "{uid: " + std::to_string(user->uid) + ", gid: " + std::to_string(user->gid) + ", groups: [" +
                       groups + "]}");
}

std::string kernel_allow_text(const Key& key, const Policy& policy) {
  return row(key, policy.kernel.allow, [](sbpf_kernel_interface interface) { return policy::to_string(interface); });
}

std::string kernel_deny_text(const Key& key, const Policy& policy) {
  return row(key, policy.kernel.deny, [](sbpf_kernel_interface interface) { return policy::to_string(interface); });
}

std::string host_capabilities_text(const Key& key, const Policy& policy) {
  return row(key, policy.kernel.dangerously_allow_capabilities,
             [](std::uint8_t number) { return capability_name(number); });
}

std::string secrets_text(const Key& key, const Policy& policy) {
  std::vector<std::string> entries;
  for (const Secret& secret : policy.secrets) {
    std::string text = "{name: " + scalar_text(secret.name);
    switch (secret.source) {
      case Secret::Source::file:
        text += ", file: " + path_text(secret.from);
        break;
      case Secret::Source::credential:
        text += ", credential: " + scalar_text(secret.from);
        break;
      case Secret::Source::standard_input:
        text += ", stdin: true";
        break;
    }
    entries.push_back(text + ", as: " + std::string(policy::to_string(secret.form)) + "}");
  }
  return unless_empty(key, entries);
}

}  // namespace sbpf::policy::internal
