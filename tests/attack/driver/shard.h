// SPDX-License-Identifier: Apache-2.0
// A share of a list: every N-th element, starting with the I-th. The N shares have no element in common, and together
// they are the whole list.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace attack::driver {

struct Shard {
  unsigned index = 0, count = 1;
};

// "I/N" with I below N; nothing if the text says anything else.
inline std::optional<Shard> parse_shard(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<unsigned> {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto index = number(text.substr(0, slash)), count = number(text.substr(slash + 1));
  if (!index || !count || *index >= *count) return std::nullopt;
  return Shard{*index, *count};
}

template <typename T>
std::vector<T> share_of(const std::vector<T>& all, Shard shard) {
  std::vector<T> share;
  for (std::size_t i = shard.index; i < all.size(); i += shard.count) share.push_back(all[i]);
  return share;
}

}  // namespace attack::driver
