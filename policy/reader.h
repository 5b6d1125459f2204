// SPDX-License-Identifier: Apache-2.0
// Reads a tree of YAML, and notes its errors. Internal to policy/, and for sbpfd's configuration.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/values.h"
#include "policy/yaml_tree.h"

namespace sbpf::policy::internal {

inline constexpr std::size_t kMaxDiagnostics = 100;  // of one parse; nobody reads the hundred-and-first

// Reads maps, lists and scalars, and notes their errors. Continues after an error: all are found in one pass.
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

}  // namespace sbpf::policy::internal
