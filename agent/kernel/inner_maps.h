// SPDX-License-Identifier: Apache-2.0
// The maps in a map of maps, by key.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace sbpf::agent {

// Key and number of the map, in ascending order of the keys.
using InnerMaps = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

// All maps in `outer`, read in one go. Errors: nullopt, with errno.
std::optional<InnerMaps> inner_maps(int outer);

// The number of the map under `key`; 0: none (errno ENOENT), or it cannot be told (errno is another).
std::uint32_t inner_map_id(int outer, std::uint64_t key);

// The same in a list that was read before; 0: it is not there.
std::uint32_t inner_map_id(const InnerMaps& all, std::uint64_t key);

// The map under `key`; -1 inside: as above.
Fd open_inner_map(int outer, std::uint64_t key);

}  // namespace sbpf::agent
