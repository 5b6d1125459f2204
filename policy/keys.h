// SPDX-License-Identifier: Apache-2.0
// The keys of the policy language: one list, from which follow how a policy is read, how it goes over what it extends,
// its canonical text, the JSON Schema, the man page, and the fuzzer's words (key_documents.cpp). Internal to policy/.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/draft.h"

namespace sbpf::policy::internal {

// One key of a map of the language. What a value holds in turn (an entry of connect, a secret) is its reader's.
struct Key {
  std::string_view path;  // "network.record_flows"
  const char* doc;        // what it means, for people; words of the language stand in `backquotes`
  // What a value may be, as what stands between the braces of a JSON Schema; "": one of words(), or a section. Of a
  // section: what may stand in its place.
  const char* schema;

  // Reads what a file says: `at` is the key as a message says it. nullptr: this version does not have it.
  void (*read)(const Key& key, const YamlNode& node, const std::string& at, Reader& reader, Draft& draft);
  // Puts what `later` says over what `base` says. nullptr: nothing to do.
  void (*merge)(Draft& base, Draft& later);
  // Its lines in the canonical text. nullptr: none.
  std::string (*write)(const Key& key, const Policy& policy);

  std::vector<std::string_view> (*words)() = nullptr;  // that a value may be, the default first

  const char* unsupported = nullptr;  // the hint for who writes a key that this version does not have

  std::string_view name() const { return path.substr(path.rfind('.') + 1); }
  std::string_view section() const { return path.substr(0, path.size() - name().size() - (name() == path ? 0 : 1)); }
  std::string indent() const;
};

// All of them, in the order of the canonical text; a section before what is in it.
std::span<const Key> keys();

// Is it a map of other keys?
inline bool is_section(const Key& key) {
  return std::ranges::any_of(keys(), [&](const Key& other) { return other.section() == key.path; });
}

// Reads a map whose keys are those of `section`; "" is the whole document.
void read_section(std::string_view section, const YamlNode& node, const std::string& at, Reader& reader, Draft& draft);

// Puts `later` over `base`.
void merge(Draft& base, Draft later);

}  // namespace sbpf::policy::internal
