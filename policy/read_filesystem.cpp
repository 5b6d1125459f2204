// SPDX-License-Identifier: Apache-2.0
// The `filesystem` part of a policy.
#include "policy/reader.h"

namespace sbpf::policy::internal {
namespace {

struct RulesReader {
  Reader& reader;
  std::map<std::string, FsRule>& rules;
  std::map<std::string, std::string> keys;  // where in this file each path stands: "filesystem.read[0]"

  void read_list(const YamlNode& node, const std::string& key, FsAccess access) {
    reader.list(node, key, "a list of paths, as in [/usr, /lib]",
                [&](const YamlNode& item, const std::string& item_key) { read_rule(item, item_key, access); });
  }

  void read_rule(const YamlNode& item, const std::string& key, FsAccess access) {
    auto path = reader.value<std::string>(item, key, "a path", parse_path);
    if (!path) return;
    const auto earlier = rules.find(*path);
    if (earlier == rules.end()) {
      keys.emplace(*path, key);
      rules.emplace(*path, FsRule{*path, access, reader.where(item)});
      return;
    }
    const Location& where = earlier->second.where;
    const std::string other =
        keys[*path] + " (line " + std::to_string(where.line) + ", column " + std::to_string(where.column) + ")";
    if (earlier->second.access == access)
      reader.error(item, key, {"duplicate_value", quoted(*path) + " is named twice, first in " + other, "remove one"});
    else
      reader.error(item, key,
                   {"conflicting_rules", quoted(*path) + " is also in " + other + ", with another access",
                    "keep one: write includes read, and protect is read that nobody changes"});
  }
};

}  // namespace

void read_filesystem(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  DraftFilesystem& filesystem = draft.filesystem;
  filesystem.requested = true;
  RulesReader rules{reader, filesystem.rules, {}};
  const auto list = [&rules](FsAccess access) {
    return [&rules, access](const YamlNode& n, const std::string& k) { rules.read_list(n, k, access); };
  };
  reader.map(node, key,
             {{"default",
               [&](const YamlNode& n, const std::string& k) {
                 constexpr FsDefault kDefaults[] = {FsDefault::deny, FsDefault::read, FsDefault::write};
                 if (auto i = reader.word(n, k, "bad_default", {"deny", "read", "write"}))
                   filesystem.fallback = kDefaults[*i];
               }},
              {"read", list(FsAccess::read)},
              {"write", list(FsAccess::write)},
              {"deny", list(FsAccess::deny)},
              {"protect", list(FsAccess::protect)},
              {"dangerously_allow_all",
               [&](const YamlNode& n, const std::string& k) {
                 if (auto b = reader.boolean(n, k))
                   filesystem.dangerously_allow_all = Placed<bool>{*b, reader.where(n)};
               }}},
             {});
}

}  // namespace sbpf::policy::internal
