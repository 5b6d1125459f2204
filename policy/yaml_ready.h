// SPDX-License-Identifier: Apache-2.0
// Trees of the profiles that are compiled in, read from their YAML by the build: yaml-cpp takes some thousand
// instructions for each line. Internal to policy/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/yaml_tree.h"

namespace sbpf::policy::internal {

// A node and then what is in it, in the order of the text; of a map a key and its value by turns.
struct ReadyNode {
  YamlNode::Kind kind;
  bool plain;
  std::int32_t line, column;
  std::uint32_t size;  // of a scalar its bytes, of a sequence its items, of a map its pairs
};

// The tree of `text`, if that is a profile that is compiled in, byte for byte: what load_yaml() makes of it.
std::optional<YamlNode> ready_tree(std::string_view text);

}  // namespace sbpf::policy::internal
