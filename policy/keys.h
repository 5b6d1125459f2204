// SPDX-License-Identifier: Apache-2.0
// The keys of the policy language: one list, from which follow how a policy is read, how it goes over what it extends, and its
// canonical text. Internal to policy/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/draft.h"

namespace sbpf::policy::internal {

// One key of a map of the language. What a value holds in turn (an entry of connect, a secret) is its reader's.
struct Key {
  std::string_view path;  // "network.record_flows"

  // Reads what a file says: `at` is the key as a message says it. nullptr: this version does not have it.
  void (*read)(const Key& key, const YamlNode& node, const std::string& at, Reader& reader, Draft& draft);
  // Puts what `later` says over what `base` says. nullptr: nothing to do.
  void (*merge)(Draft& base, Draft& later);
  // Its lines in the canonical text. nullptr: none.
  std::string (*write)(const Key& key, const Policy& policy);

  const char* unsupported = nullptr;  // the hint for who writes a key that this version does not have

  std::string_view name() const { return path.substr(path.rfind('.') + 1); }
  std::string_view section() const { return path.substr(0, path.size() - name().size() - (name() == path ? 0 : 1)); }
  std::string indent() const;
};

// All of them, in the order of the canonical text; a section before what is in it.
std::span<const Key> keys();

// Reads a map whose keys are those of `section`; "" is the whole document.
void read_section(std::string_view section, const YamlNode& node, const std::string& at, Reader& reader, Draft& draft);

// Puts `later` over `base`.
void merge(Draft& base, Draft later);

}  // namespace sbpf::policy::internal
