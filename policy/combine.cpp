// SPDX-License-Identifier: Apache-2.0
// Several changes of a policy as one.
#include <algorithm>
#include <optional>

#include "policy/advice.h"
#include "policy/entry_text.h"
#include "policy/yaml_tree.h"

namespace sbpf::policy {
namespace {

using internal::YamlNode;

// Within brackets more characters mean something than in a line of their own.
std::string scalar_as_it_was(const YamlNode& node) {
  const bool stays = node.plain && node.text.find_first_of(",[]{}#\n") == std::string::npos;
  return stays ? node.text : internal::scalar_text(node.text);
}

std::string flow_text(const YamlNode& node) {
  std::string text;
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "~";
    case YamlNode::Kind::scalar:
      return scalar_as_it_was(node);
    case YamlNode::Kind::sequence:
      for (const YamlNode& item : node.items) text += (text.empty() ? "" : ", ") + flow_text(item);
      return "[" + text + "]";
    case YamlNode::Kind::map:
      for (std::size_t i = 0; i < node.keys.size(); i++)
        text += (text.empty() ? "" : ", ") + scalar_as_it_was(node.keys[i]) + ": " + flow_text(node.items[i]);
      return "{" + text + "}";
  }
  return text;
}

// The value of a key; nullptr: the map has none of it.
YamlNode* value_of(YamlNode& map, const std::string& key) {
  const auto found = std::ranges::find(map.keys, key, &YamlNode::text);
  return found == map.keys.end() ? nullptr : &map.items[static_cast<std::size_t>(found - map.keys.begin())];
}

bool has_item(const YamlNode& sequence, const YamlNode& item) {
  const std::string text = flow_text(item);
  return std::ranges::any_of(sequence.items, [&](const YamlNode& one) { return flow_text(one) == text; });
}

// Lists grow, maps too, and of what is one value the later is taken: as `extends` does.
void merge(YamlNode& into, const YamlNode& from) {
  if (into.kind != from.kind || into.kind == YamlNode::Kind::scalar || into.kind == YamlNode::Kind::null) {
    into = from;
  } else if (into.kind == YamlNode::Kind::sequence) {
    for (const YamlNode& item : from.items)
      if (!has_item(into, item)) into.items.push_back(item);
  } else {
    for (std::size_t i = 0; i < from.keys.size(); i++) {
      YamlNode* const there = value_of(into, from.keys[i].text);
      if (there != nullptr) {
        merge(*there, from.items[i]);
      } else {
        into.keys.push_back(from.keys[i]);
        into.items.push_back(from.items[i]);
      }
    }
  }
}

// What may be written may be read, and a path is in one list only.
void drop_read_of_written(YamlNode& change) {
  YamlNode* const files = value_of(change, "filesystem");
  YamlNode* const read = files ? value_of(*files, "read") : nullptr;
  const YamlNode* const write = files ? value_of(*files, "write") : nullptr;
  if (read == nullptr || write == nullptr) return;
  std::erase_if(read->items, [&](const YamlNode& item) { return has_item(*write, item); });
  if (!read->items.empty()) return;
  files->items.erase(files->items.begin() + (read - files->items.data()));
  std::erase_if(files->keys, [](const YamlNode& key) { return key.text == "read"; });
}

std::string lines_of(const YamlNode& change) {
  std::string text;
  for (std::size_t i = 0; i < change.keys.size(); i++)
    text += (text.empty() ? "" : "\n") + scalar_as_it_was(change.keys[i]) + ": " + flow_text(change.items[i]);
  return text;
}

void add_lines(const YamlNode& node, std::size_t depth, std::string& text) {
  const std::string indent(2 * depth, ' ');
  for (std::size_t i = 0; i < node.items.size(); i++) {
    const YamlNode& item = node.items[i];
    const bool opens = node.kind == YamlNode::Kind::map && !item.items.empty() && depth < 3;
    text += indent + (node.kind == YamlNode::Kind::map ? scalar_as_it_was(node.keys[i]) + ":" : "-");
    text += opens ? "\n" : " " + flow_text(item) + "\n";
    if (opens) add_lines(item, depth + 1, text);
  }
}

// `change` and this one. Nothing: this one is no change.
std::optional<YamlNode> merged(YamlNode change, const std::string& more) {
  const auto parsed = internal::load_yaml(more, "a change");
  if (!parsed || parsed->kind != YamlNode::Kind::map) return std::nullopt;
  merge(change, *parsed);
  drop_read_of_written(change);
  return change;
}

}  // namespace

Combined combine(const Policy& policy, const std::vector<std::string>& changes) {
  Combined combined;
  YamlNode all;
  all.kind = YamlNode::Kind::map;
  for (const std::string& one : changes) {
    auto more = merged(all, one);
    if (more && with_change(policy, lines_of(*more)))
      all = std::move(*more);
    else
      combined.left_out.push_back(one);
  }
  combined.change = lines_of(all);
  return combined;
}

std::string in_lines(const std::string& change) {
  std::string text;
  if (const auto parsed = internal::load_yaml(change, "a change")) add_lines(*parsed, 0, text);
  return text;
}

std::optional<Extension> read_extension(std::string_view text) {
  auto parsed = internal::load_yaml(text, "a policy");
  if (!parsed || parsed->kind != YamlNode::Kind::map) return std::nullopt;
  const YamlNode* const extends = value_of(*parsed, "extends");
  if (extends == nullptr || extends->items.size() != 1 || extends->items[0].kind != YamlNode::Kind::scalar)
    return std::nullopt;
  Extension extension{extends->items[0].text, ""};
  YamlNode rest;
  rest.kind = YamlNode::Kind::map;
  for (std::size_t i = 0; i < parsed->keys.size(); i++) {
    const std::string& key = parsed->keys[i].text;
    if (key == "version" || key == "name" || key == "extends") continue;
    rest.keys.push_back(parsed->keys[i]);
    rest.items.push_back(parsed->items[i]);
  }
  extension.change = lines_of(rest);
  return extension;
}

}  // namespace sbpf::policy
