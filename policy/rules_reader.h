// SPDX-License-Identifier: Apache-2.0
// Lists of paths in a policy -> rules, one per path.
#pragma once

#include <fmt/core.h>

#include "policy/draft.h"

namespace sbpf::policy::internal {

template <typename Rule, typename Access>
struct RulesReader {
  Reader& reader;
  DraftRules<Rule>& rules;
  Access Rule::*access;       // what a list says of its paths
  std::string example;        // "a list of paths, as in [/usr, /lib]"
  std::string conflict;       // what to add where two lists have a path…
  std::string conflict_hint;  // …and what to do about it

  // A path that is already in the file is an error at its second place.
  void read_list(const YamlNode& node, const std::string& key, Access value) {
    reader.list(node, key, example,
                [&](const YamlNode& item, const std::string& item_key) { read_rule(item, item_key, value); });
  }

  // The new rule; nullptr after an error.
  Rule* read_rule(const YamlNode& item, const std::string& key, Access value) {
    auto path = reader.value<std::string>(item, key, "a path", parse_path);
    if (!path) return nullptr;
    const auto [earlier, fresh] = rules.by_path.emplace(*path, Rule{*path, value, reader.where(item)});
    if (fresh) {
      rules.keys.emplace(*path, key);
      return &earlier->second;
    }
    const Location& where = earlier->second.where;
    const std::string other = fmt::format("{} (line {}, column {})", rules.keys[*path], where.line, where.column);
    if (earlier->second.*access == value)
      reader.error(
          item, key,
          {"duplicate_value", fmt::format("{} is named twice, first in {}", quoted(*path), other), "remove one"});
    else
      reader.error(
          item, key,
          {"conflicting_rules", fmt::format("{} is also in {}{}", quoted(*path), other, conflict), conflict_hint});
    return nullptr;
  }
};

}  // namespace sbpf::policy::internal
