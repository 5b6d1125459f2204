// SPDX-License-Identifier: Apache-2.0
// What a policy says of itself: version, name, extends.
#include <algorithm>

#include "policy/draft.h"

namespace sbpf::policy::internal {

void read_version(const YamlNode& node, const std::string& key, Reader& reader, Draft&) {
  const std::string* scalar = reader.text(node, key, "the number 1");
  if (!scalar) return;
  if (!node.plain || *scalar != "1")
    reader.error(node, key, {"bad_version", "this sbpf reads version 1 of the policy language", "write version: 1"});
}

void read_name(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  const std::string* scalar = reader.text(node, key, "a name");
  if (!scalar) return;
  if (valid_policy_name(*scalar))
    draft.policy.name = *scalar;
  else
    reader.error(node, key,
                 {"bad_name", fmt::format("{} is not a policy name", quoted(*scalar)),
                  "use 1 to 63 of the characters a-z A-Z 0-9 . _ -"});
}

void read_extends(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  reader.list(node, key, "extends: [runtime-base]", [&](const YamlNode& item, const std::string& item_key) {
    const std::string* scalar = reader.text(item, item_key, "the name of a profile, or a path");
    if (!scalar) return;
    if (draft.extends.size() >= kMaxFiles) {
      reader.error(
          item, item_key,
          {"too_many_profiles", fmt::format("more than {} profiles are extended", kMaxFiles), "join some of them"});
      return;
    }
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    const bool names_file = is_file_reference(*scalar) && std::none_of(scalar->begin(), scalar->end(), is_control);
    const auto same = [scalar](const Placed<std::string>& other) { return other.value == *scalar; };
    if (!valid_policy_name(*scalar) && !names_file)
      reader.error(item, item_key,
                   {"bad_name", fmt::format("{} is not the name of a profile", quoted(*scalar)),
                    "name a profile, or a file with ./ before it: ./base.yaml"});
    else if (std::any_of(draft.extends.begin(), draft.extends.end(), same))
      reader.error(item, item_key,
                   {"duplicate_value", fmt::format("{} is extended twice", quoted(*scalar)), "remove one"});
    else
      draft.extends.push_back({*scalar, reader.where(item)});
  });
}

}  // namespace sbpf::policy::internal
