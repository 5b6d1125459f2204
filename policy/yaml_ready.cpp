// SPDX-License-Identifier: Apache-2.0
#include "policy/yaml_ready.h"

#include <algorithm>

#include "policy/embedded.h"

namespace sbpf::policy::internal {
namespace {

struct ReadyTree {
  std::string_view name;
  const ReadyNode* nodes;
  std::string_view scalars;  // one after another
};

#include "yaml_ready.inc"  // kReadyTrees

class Taker {
 public:
  explicit Taker(const ReadyTree& tree) : next_(tree.nodes), scalars_(tree.scalars) {}

  YamlNode take() {
    const ReadyNode& ready = *next_++;
    YamlNode node;
    node.kind = ready.kind;
    node.plain = ready.plain;
    node.line = ready.line;
    node.column = ready.column;
    if (ready.kind == YamlNode::Kind::scalar) {
      node.text = scalars_.substr(0, ready.size);
      scalars_.remove_prefix(ready.size);
      return node;
    }
    const bool map = ready.kind == YamlNode::Kind::map;
    node.items.reserve(ready.size);
    if (map) node.keys.reserve(ready.size);
    for (std::uint32_t i = 0; i < ready.size; ++i) {
      if (map) node.keys.push_back(take());
      node.items.push_back(take());
    }
    return node;
  }

 private:
  const ReadyNode* next_;
  std::string_view scalars_;
};

}  // namespace

std::optional<YamlNode> ready_tree(std::string_view text) {
  const auto& files = embedded_files();
  const auto file = std::ranges::find(files, text, &EmbeddedFile::text);
  if (file == files.end()) return std::nullopt;
  const auto tree = std::ranges::find(kReadyTrees, file->name, &ReadyTree::name);
  if (tree == std::end(kReadyTrees)) return std::nullopt;
  return Taker(*tree).take();
}

}  // namespace sbpf::policy::internal
