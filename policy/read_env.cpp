// SPDX-License-Identifier: Apache-2.0
// The values of the keys of `process.env`.
#include "policy/draft.h"

namespace sbpf::policy::internal {
namespace {

// A name, or a prefix as in LC_*. A lone * would hand over the caller's whole environment, secrets included.
Value<std::string> parse_env_pattern(std::string_view text) {
  const bool prefix = !text.empty() && text.back() == '*';
  if (prefix && env_by_name_only(text.substr(0, text.size() - 1)))
    return tl::unexpected(BadValue{"bad_env_name",
                                   fmt::format("{} would take over what makes programs load code", quoted(text)),
                                   "name the variables, as in LD_LIBRARY_PATH; prefixes never take these over"});
  if (valid_env_name(prefix ? text.substr(0, text.size() - 1) : text)) return std::string(text);
  return tl::unexpected(BadValue{"bad_env_name", fmt::format("{} is not a variable's name", quoted(text)),
                                 text == "*" ? "list the variables: * would take over all of them, secrets too"
                                             : "write a name as in HOME, or a prefix as in LC_*"});
}

}  // namespace

void read_env_allow(const YamlNode& node, const std::string& key, Reader& reader, std::vector<std::string>& out) {
  reader.list(node, key, "a list, as in [PATH, HOME]", [&](const YamlNode& item, const std::string& item_key) {
    if (auto name = reader.value<std::string>(item, item_key, "a variable's name", parse_env_pattern))
      out.push_back(std::move(*name));
  });
}

void read_env_set(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  if (node.kind != YamlNode::Kind::map) {
    reader.error(node, key, {"wrong_type", "a map of names and values is expected here", "write set: {CI: \"1\"}"});
    return;
  }
  // The names are the user's own, so that there is no list of fields: this map is read by hand.
  std::map<std::string_view, int> seen;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const YamlNode& name = node.keys[i];
    const YamlNode& value = node.items[i];
    if (name.kind != YamlNode::Kind::scalar || !valid_env_name(name.text)) {
      reader.error(name, key,
                   {"bad_env_name", "this is not a variable's name",
                    "a name has letters, digits and _, and does not start with a digit"});
      continue;
    }
    const std::string path = key + "." + shown(name.text);
    if (seen[name.text]++ > 0) {
      reader.error(name, path, {"duplicate_key", "the variable is set twice", "remove one"});
      continue;
    }
    const std::string* text = reader.text(value, path, "a text");
    if (!text) continue;
    if (text->find('\0') != std::string::npos)
      reader.error(value, path, {"bad_env_value", "a variable's value cannot hold a NUL byte", "remove the \\0"});
    else
      draft.policy.env.set[name.text] = *text;
  }
}

}  // namespace sbpf::policy::internal
