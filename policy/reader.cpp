// SPDX-License-Identifier: Apache-2.0
#include "policy/reader.h"

#include <fmt/core.h>
#include <algorithm>
#include <set>

#include "base/nearest.h"

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
    error(node, key,
          {"wrong_type", fmt::format("a map is expected here, not {}", kind_name(node)),
           fmt::format("its keys: {}", list_of(names))});
    return;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const YamlNode& name = node.keys[i];
    if (name.kind != YamlNode::Kind::scalar) {
      error(name, key,
            {"bad_key", fmt::format("a key must be a word, not {}", kind_name(name)),
             "quote it if it is meant as a text"});
      continue;
    }
    const std::string path = join(key, shown(name.text));
    if (!seen.insert(name.text).second) {
      error(name, path, {"duplicate_key", fmt::format("{} is given twice", quoted(name.text)), "join the two"});
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
    error(name, key,
          {"unsupported", fmt::format("\"{}\" is not supported by this version", name.text), std::string(l.hint)});
    return;
  }
  std::vector<std::string_view> names;
  for (const Field& field : fields) names.push_back(field.name);
  const std::string near = did_you_mean(name.text, names);
  std::string hint = near.empty() ? fmt::format("known here: {}", list_of(names)) : near;
  if (name.text == "<<") hint = "merge keys are not supported; to share rules, use extends";
  error(name, key, {"unknown_key", fmt::format("unknown key {}", quoted(name.text)), std::move(hint)});
}

void Reader::list(const YamlNode& node, const std::string& key, std::string_view example,
                  const std::function<void(const YamlNode&, const std::string&)>& read) {
  if (node.kind != YamlNode::Kind::sequence) {
    error(node, key,
          {"wrong_type", fmt::format("a list is expected here, not {}", kind_name(node)),
           fmt::format("write {}", example)});
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) read(node.items[i], fmt::format("{}[{}]", key, i));
}

const std::string* Reader::text(const YamlNode& node, const std::string& key, std::string_view expected) {
  if (node.kind == YamlNode::Kind::scalar) return &node.text;
  error(node, key,
        {"wrong_type", fmt::format("{} is expected here, not {}", expected, kind_name(node)),
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
  const std::string* scalar = text(node, key, fmt::format("one of {}", list_of(words)));
  if (!scalar) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *scalar);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  error(node, key,
        {std::string(code), fmt::format("{} is not known here", quoted(*scalar)),
         fmt::format("write {}", list_of(words))});
  return std::nullopt;
}

}  // namespace sbpf::policy::internal
