// SPDX-License-Identifier: Apache-2.0
// The contents of policy files, before they become a Policy. Internal to policy/.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/reader.h"

namespace sbpf::policy::internal {

inline constexpr std::size_t kMaxFiles = 64;  // read for one policy: bounds chains that fan out

// A value with the place where it was written.
template <typename T>
struct Placed {
  T value{};
  Location where;
};

// The rules of a section that has one for each path, and where each path stands in the file that is being read:
// "filesystem.read[0]".
template <typename Rule>
struct DraftRules {
  std::map<std::string, Rule> by_path;
  std::map<std::string, std::string> keys;
};

// The contents of one file, or of several that were merged.
struct Draft {
  Policy policy;  // what is written, lists in that order; else as Policy has it
  std::map<std::string_view, Location, std::less<>> written;  // the paths of keys(), and where their values are
  std::vector<Placed<std::string>> extends;
  bool network_none = false;  // `network: none`: what other files said of the network before is dropped
  DraftRules<FsRule> filesystem;
  DraftRules<ExecRule> exec;
  std::map<std::string, UnixRule> unix_peers;  // by peer
  std::map<std::string, Secret> secrets;       // by name

  bool wrote(std::string_view key) const { return written.contains(key); }
};

// Each reads the value of a key. `key` is its path as a message says it.
void read_version(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_name(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_extends(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_connect(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_bind(const YamlNode& node, const std::string& key, Reader& reader, std::vector<Endpoint>& out);
void read_sockets(const YamlNode& node, const std::string& key, Reader& reader, std::vector<sbpf_socket_class>& out);
void read_resolver(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_trusted_programs(const YamlNode& node, const std::string& key, Reader& reader, std::vector<ProgramTag>& out);
void read_network_interfaces(const YamlNode& node, const std::string& key, Reader& reader,
                             std::vector<std::string>& out);
void read_unix(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_fs_paths(const YamlNode& node, const std::string& key, FsAccess access, Reader& reader, Draft& draft);
void read_exec_paths(const YamlNode& node, const std::string& key, bool allow, Reader& reader, Draft& draft);
void read_exec_sha256(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_env_allow(const YamlNode& node, const std::string& key, Reader& reader, std::vector<std::string>& out);
void read_env_set(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_closed_interfaces(const YamlNode& node, const std::string& key, Reader& reader,
                            std::vector<sbpf_kernel_interface>& out);
void read_open_interfaces(const YamlNode& node, const std::string& key, Reader& reader,
                          std::vector<sbpf_kernel_interface>& out);
void read_host_capabilities(const YamlNode& node, const std::string& key, Reader& reader,
                            std::vector<std::uint8_t>& out);
void read_seccomp(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_capabilities(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_user(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_secrets(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);

// Reports errors of the private places of a merged policy: where none can be, and rules for what would be hidden.
void check_private_places(const Draft& draft, std::vector<Diagnostic>& diagnostics);

// Reports errors of the secrets of a merged policy: they contradict each other, the environment or the filesystem
// rules.
void check_secrets(const Draft& draft, std::vector<Diagnostic>& diagnostics);
// Moves the secrets to the policy, with the filesystem rule that they need.
void finish_secrets(Draft& draft, Policy& policy);

}  // namespace sbpf::policy::internal
