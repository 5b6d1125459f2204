// SPDX-License-Identifier: Apache-2.0
// All that is in a map of the kernel.
#pragma once

#include <bpf/bpf.h>
#include <utility>
#include <vector>

namespace sbpf::agent {

// One after the other: what is changed meanwhile may be there or not, or twice. Empty where the map cannot be read.
template <typename Key, typename Value>
std::vector<std::pair<Key, Value>> entries_of(int map) {
  std::vector<std::pair<Key, Value>> all;
  Key key{}, next{};
  for (void* previous = nullptr; bpf_map_get_next_key(map, previous, &next) == 0; previous = &key) {
    Value value{};
    if (bpf_map_lookup_elem(map, &next, &value) == 0) all.emplace_back(next, value);
    key = next;
  }
  return all;
}

}  // namespace sbpf::agent
