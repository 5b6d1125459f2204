// SPDX-License-Identifier: Apache-2.0
#include "policy/reader.h"

#include <algorithm>
#include <set>

namespace sbpf::policy::internal {
namespace {

std::string join(const std::string& key, std::string_view name) {
  return key.empty() ? std::string(name) : key + "." + std::string(name);
}

std::string kind_name(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::scalar:
      return "a single value";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
  }
  return "";
}

std::string list_of(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
  return text;
}

}  // namespace

void report(std::vector<Diagnostic>& diagnostics, Diagnostic diagnostic) {
  if (diagnostics.size() < kMaxDiagnostics) diagnostics.push_back(std::move(diagnostic));
}

void Reader::error(const YamlNode& at, const std::string& key, BadValue bad) {
  report(diagnostics_, Diagnostic{where(at), std::move(bad.code), key, std::move(bad.message), std::move(bad.hint)});
}

void Reader::map(const YamlNode& node, const std::string& key, const std::vector<Field>& fields,
                 const std::vector<Later>& later) {
  if (node.kind != YamlNode::Kind::map) {
    std::vector<std::string_view> names;
    for (const Field& field : fields) names.push_back(field.name);
    error(node, key, {"wrong_type", "a map is expected here, not " + kind_name(node), "its keys: " + list_of(names)});
    return;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const YamlNode& name = node.keys[i];
    if (name.kind != YamlNode::Kind::scalar) {
      error(name, key,
            {"bad_key", "a key must be a word, not " + kind_name(name), "quote it if it is meant as a text"});
      continue;
    }
    const std::string path = join(key, shown(name.text));
    if (!seen.insert(name.text).second) {
      error(name, path, {"duplicate_key", quoted(name.text) + " is given twice", "join the two"});
      continue;
    }
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&name](const Field& f) { return f.name == name.text; });
    if (field != fields.end())
      field->read(node.items[i], path);
    else
      unknown_key(name, path, fields, later);
  }
}

void Reader::unknown_key(const YamlNode& name, const std::string& key, const std::vector<Field>& fields,
                         const std::vector<Later>& later) {
  if (diagnostics_.size() >= kMaxDiagnostics) return;  // spares the search for a near key, too
  for (const Later& l : later) {
    if (l.name != name.text) continue;
    error(name, key, {"unsupported", "\"" + name.text + "\" is not supported by this version", std::string(l.hint)});
    return;
  }
  std::vector<std::string_view> names;
  for (const Field& field : fields) names.push_back(field.name);
  const std::string_view near = nearest(name.text, names);
  std::string hint = near.empty() ? "known here: " + list_of(names) : "did you mean \"" + std::string(near) + "\"?";
  if (name.text == "<<") hint = "merge keys are not supported; to share rules, use extends";
  error(name, key, {"unknown_key", "unknown key " + quoted(name.text), std::move(hint)});
}

void Reader::list(const YamlNode& node, const std::string& key, std::string_view example,
                  const std::function<void(const YamlNode&, const std::string&)>& read) {
  if (node.kind != YamlNode::Kind::sequence) {
    error(node, key,
          {"wrong_type", "a list is expected here, not " + kind_name(node), "write " + std::string(example)});
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) read(node.items[i], key + "[" + std::to_string(i) + "]");
}

const std::string* Reader::text(const YamlNode& node, const std::string& key, std::string_view expected) {
  if (node.kind == YamlNode::Kind::scalar) return &node.text;
  error(node, key,
        {"wrong_type", std::string(expected) + " is expected here, not " + kind_name(node),
         node.kind == YamlNode::Kind::null ? "give a value, or remove the key" : "write one value"});
  return nullptr;
}

std::optional<bool> Reader::boolean(const YamlNode& node, const std::string& key) {
  if (node.kind == YamlNode::Kind::scalar && node.plain) {
    if (node.text == "true") return true;
    if (node.text == "false") return false;
  }
  error(node, key, {"wrong_type", "true or false is expected here", "write true or false, without quotes"});
  return std::nullopt;
}

std::optional<std::size_t> Reader::word(const YamlNode& node, const std::string& key, std::string_view code,
                                        const std::vector<std::string_view>& words) {
  const std::string* scalar = text(node, key, "one of " + list_of(words));
  if (!scalar) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *scalar);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  error(node, key, {std::string(code), quoted(*scalar) + " is not known here", "write " + list_of(words)});
  return std::nullopt;
}

namespace {

void read_version(const YamlNode& node, const std::string& key, Reader& reader) {
  const std::string* scalar = reader.text(node, key, "the number 1");
  if (!scalar) return;
  if (!node.plain || *scalar != "1")
    reader.error(node, key, {"bad_version", "this sbpf reads version 1 of the policy language", "write version: 1"});
}

void read_name(const YamlNode& node, const std::string& key, Reader& reader, std::string& name) {
  const std::string* scalar = reader.text(node, key, "a name");
  if (!scalar) return;
  if (valid_policy_name(*scalar))
    name = *scalar;
  else
    reader.error(
        node, key,
        {"bad_name", quoted(*scalar) + " is not a policy name", "use 1 to 63 of the characters a-z A-Z 0-9 . _ -"});
}

void read_extends(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  reader.list(node, key, "extends: [runtime-base]", [&](const YamlNode& item, const std::string& item_key) {
    const std::string* scalar = reader.text(item, item_key, "the name of a profile");
    if (!scalar) return;
    if (draft.extends.size() >= kMaxFiles) {
      reader.error(item, item_key,
                   {"too_many_profiles", "more than " + std::to_string(kMaxFiles) + " profiles are extended",
                    "join some of them"});
      return;
    }
    const auto same = [scalar](const Placed<std::string>& other) { return other.value == *scalar; };
    if (!valid_policy_name(*scalar))
      reader.error(item, item_key,
                   {"bad_name", quoted(*scalar) + " is not the name of a profile", "extends takes names, not paths"});
    else if (std::any_of(draft.extends.begin(), draft.extends.end(), same))
      reader.error(item, item_key, {"duplicate_value", quoted(*scalar) + " is extended twice", "remove one"});
    else
      draft.extends.push_back({*scalar, reader.where(item)});
  });
}

}  // namespace

Draft read_document(const YamlNode& root, Reader& reader) {
  Draft draft;
  bool has_version = false, has_name = false;
  const std::vector<Reader::Field> fields = {
      {"version",
       [&](const YamlNode& n, const std::string& k) {
         has_version = true;
         read_version(n, k, reader);
       }},
      {"name",
       [&](const YamlNode& n, const std::string& k) {
         has_name = true;
         read_name(n, k, reader, draft.name);
       }},
      {"extends", [&](const YamlNode& n, const std::string& k) { read_extends(n, k, reader, draft); }},
      {"mode",
       [&](const YamlNode& n, const std::string& k) {
         constexpr Mode kModes[] = {Mode::enforce, Mode::audit};
         if (auto i = reader.word(n, k, "bad_mode", {"enforce", "audit"})) draft.mode = kModes[*i];
       }},
      {"on_loss",
       [&](const YamlNode& n, const std::string& k) {
         constexpr OnLoss kActions[] = {OnLoss::freeze, OnLoss::kill, OnLoss::alert};
         if (auto i = reader.word(n, k, "bad_on_loss", {"freeze", "kill", "alert"})) draft.on_loss = kActions[*i];
       }},
      {"network", [&](const YamlNode& n, const std::string& k) { read_network(n, k, reader, draft); }},
      {"filesystem", [&](const YamlNode& n, const std::string& k) { read_filesystem(n, k, reader, draft); }},
      {"process", [&](const YamlNode& n, const std::string& k) { read_process(n, k, reader, draft); }},
  };
  const std::vector<Reader::Later> later = {
      {"inference", "the inference proxy comes in a later version; allow the address of your own in network.connect"},
  };
  reader.map(root, "", fields, later);
  if (root.kind != YamlNode::Kind::map) return draft;
  if (!has_version) reader.error(root, "version", {"missing_key", "the policy has no version", "add version: 1"});
  if (!has_name) reader.error(root, "name", {"missing_key", "the policy has no name", "add name: my-policy"});
  return draft;
}

}  // namespace sbpf::policy::internal
