// SPDX-License-Identifier: Apache-2.0
// One file's tree -> Draft: what that file says, before anything is merged. Internal to policy/.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/values.h"
#include "policy/yaml_tree.h"

namespace sbpf::policy::internal {

inline constexpr std::size_t kMaxDiagnostics = 100;      // of one parse; nobody reads the hundred-and-first
inline constexpr std::size_t kMaxFiles = 64;             // read for one policy: bounds chains that fan out
inline constexpr std::uint64_t kMaxProcesses = 4194304;  // the kernel's PID_MAX_LIMIT

// A value with the place where it was written.
template <typename T>
struct Placed {
  T value{};
  Location where;
};

// What one file says of files.
struct DraftFilesystem {
  bool requested = false;  // the section is there, even if it is empty
  std::optional<Placed<bool>> dangerously_allow_all;
  std::optional<FsDefault> fallback;
  std::map<std::string, FsRule> rules;  // by path
};

// What one file says of programs.
struct DraftExec {
  bool allow_listed = false;
  std::optional<Placed<bool>> deny_writable;
  std::map<std::string, ExecRule> rules;  // by path
};

// What one file says. Unset is "not written", so that merging can tell it from a default.
struct Draft {
  std::string name;
  std::vector<Placed<std::string>> extends;
  std::optional<Mode> mode;
  std::optional<OnLoss> on_loss;
  bool network_none = false;
  std::optional<Placed<bool>> dangerously_allow_all;
  std::optional<bool> dangerously_allow_metadata;
  std::optional<bool> record_flows;
  std::vector<Endpoint> connect, bind;
  std::vector<HostRule> hosts;
  std::optional<Address> resolver;
  std::vector<sbpf_socket_class> dangerously_allow_sockets;
  std::map<std::string, UnixRule> unix_peers;  // by peer
  std::vector<ProgramTag> trusted_programs;
  std::vector<std::string> interfaces;
  DraftFilesystem filesystem;
  DraftExec exec;
  std::optional<std::vector<std::string>> env_allow;
  std::map<std::string, std::string> env_set;
  Limits limits;
  KernelAccess kernel;
  std::optional<Seccomp> seccomp;
  std::optional<Capabilities> capabilities;
  std::optional<User> user;
  std::optional<Placed<bool>> dangerously_allow_new_privileges;
  std::map<std::string, Secret> secrets;  // by name
};

// Reads maps, lists and scalars, and notes what is wrong with them. Goes on after an error: all are found in one pass.
class Reader {
 public:
  Reader(std::string_view file, std::vector<Diagnostic>& diagnostics) : file_(file), diagnostics_(diagnostics) {}

  struct Field {
    std::string_view name;
    std::function<void(const YamlNode& value, const std::string& key)> read;
  };
  // A key that the policy language has, and this version does not enforce.
  struct Later {
    std::string_view name;
    std::string_view hint;
  };

  // Reads a map. A key that is in neither list is an error, as is one that comes twice.
  void map(const YamlNode& node, const std::string& key, const std::vector<Field>& fields,
           const std::vector<Later>& later);
  // Calls `read` for each item of a list.
  void list(const YamlNode& node, const std::string& key, std::string_view example,
            const std::function<void(const YamlNode& item, const std::string& key)>& read);
  // The text of a scalar; nullptr, and an error, if it is none. `expected` says what should stand there.
  const std::string* text(const YamlNode& node, const std::string& key, std::string_view expected);
  std::optional<bool> boolean(const YamlNode& node, const std::string& key);
  // One of a set of words.
  std::optional<std::size_t> word(const YamlNode& node, const std::string& key, std::string_view code,
                                  const std::vector<std::string_view>& words);
  // A scalar read by one of the functions of values.h.
  template <typename T>
  std::optional<T> value(const YamlNode& node, const std::string& key, std::string_view expected,
                         const std::function<Value<T>(std::string_view)>& parse_value) {
    const std::string* scalar = text(node, key, expected);
    if (!scalar) return std::nullopt;
    auto result = parse_value(*scalar);
    if (result) return *result;
    error(node, key, result.error());
    return std::nullopt;
  }

  void error(const YamlNode& at, const std::string& key, BadValue bad);
  Location where(const YamlNode& node) const { return Location{file_, node.line, node.column}; }

 private:
  void unknown_key(const YamlNode& name, const std::string& key, const std::vector<Field>& fields,
                   const std::vector<Later>& later);

  std::string file_;
  std::vector<Diagnostic>& diagnostics_;
};

// Appends, up to kMaxDiagnostics.
void report(std::vector<Diagnostic>& diagnostics, Diagnostic diagnostic);

Draft read_document(const YamlNode& root, Reader& reader);
void read_network(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_filesystem(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_kernel(const YamlNode& node, const std::string& key, Reader& reader, KernelAccess& out);
void read_exec(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
// Of process; read_launch.cpp.
void read_seccomp(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_capabilities(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_user(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_process(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);
void read_secrets(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft);

// What is wrong with the secrets of a merged policy: they contradict each other, the environment or the filesystem rules.
void check_secrets(const Draft& draft, std::vector<Diagnostic>& diagnostics);
// Moves the secrets to the policy, with the filesystem rule that they need.
void finish_secrets(Draft& draft, Policy& policy);

}  // namespace sbpf::policy::internal
