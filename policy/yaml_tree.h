// SPDX-License-Identifier: Apache-2.0
// YAML text -> a tree with places. The one user of yaml-cpp, whose exceptions end here. Internal to policy/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace sbpf::policy::internal {

inline constexpr std::size_t kMaxNesting = 32;

struct YamlNode {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  std::string text;             // of a scalar
  bool plain = false;           // scalar without quotes
  int line = 0;                 // from 1
  int column = 0;               // from 1, in bytes
  std::vector<YamlNode> items;  // of a sequence; of a map the values
  std::vector<YamlNode> keys;   // of a map, as many as items, duplicates included
};

// The single document of `text`. Only plain YAML gets through: no aliases and anchors (no alias bombs, and what is
// read is what is written), no tags, no second document, no bytes that are not text. The error is the first thing
// wrong, as a parser cannot go on after it.
tl::expected<YamlNode, Diagnostic> load_yaml(std::string_view text, std::string_view file);

}  // namespace sbpf::policy::internal
