// SPDX-License-Identifier: Apache-2.0
// The `process.exec` part of a policy.
#include "policy/reader.h"

namespace sbpf::policy::internal {
namespace {

struct RulesReader {
  Reader& reader;
  std::map<std::string, ExecRule>& rules;
  std::map<std::string, std::string> keys;  // where in this file each path stands: "process.exec.allow[0]"

  void read_list(const YamlNode& node, const std::string& key, bool allow) {
    reader.list(node, key, "a list of paths, as in [/usr/bin, /bin]",
                [&](const YamlNode& item, const std::string& item_key) { read_rule(item, item_key, allow); });
  }

  void read_rule(const YamlNode& item, const std::string& key, bool allow) {
    auto path = reader.value<std::string>(item, key, "a path", parse_path);
    if (!path) return;
    const auto [earlier, fresh] = rules.emplace(*path, ExecRule{*path, allow, reader.where(item)});
    if (fresh) {
      keys.emplace(*path, key);
      return;
    }
    const Location& where = earlier->second.where;
    const std::string other =
        keys[*path] + " (line " + std::to_string(where.line) + ", column " + std::to_string(where.column) + ")";
    if (earlier->second.allow == allow)
      reader.error(item, key, {"duplicate_value", quoted(*path) + " is named twice, first in " + other, "remove one"});
    else
      reader.error(item, key, {"conflicting_rules", quoted(*path) + " is also in " + other, "keep one"});
  }
};

}  // namespace

void read_exec(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  DraftExec& exec = draft.exec;
  RulesReader rules{reader, exec.rules, {}};
  reader.map(node, key,
             {{"allow",
               [&](const YamlNode& n, const std::string& k) {
                 exec.allow_listed = true;
                 rules.read_list(n, k, true);
               }},
              {"deny", [&](const YamlNode& n, const std::string& k) { rules.read_list(n, k, false); }},
              {"deny_writable",
               [&](const YamlNode& n, const std::string& k) {
                 if (auto b = reader.boolean(n, k)) exec.deny_writable = Placed<bool>{*b, reader.where(n)};
               }}},
             {{"sha256", "pinned programs come in a later version; until then allow only directories that nobody in the "
                         "sandbox writes"}});
}

}  // namespace sbpf::policy::internal
