// SPDX-License-Identifier: Apache-2.0
// What a word was probably meant to be.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sbpf {

// How many letters must be changed, added or removed, or two neighbours exchanged, to make one of the other.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above(row), above_that(row);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    above_that.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], above_that[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// The candidate that `word` was probably meant to be: one that it begins, or else the one that is most alike; empty if
// none is near.
template <typename Candidates>
std::string nearest(std::string_view word, const Candidates& candidates) {
  constexpr std::size_t kLongest = 64;  // nothing of ours is longer, and the distance costs length times length
  constexpr std::size_t kShortestBeginning = 3;
  if (word.empty() || word.size() > kLongest) return {};
  std::string best;
  std::size_t best_distance = std::clamp<std::size_t>(word.size() / 3, 1, 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (word.size() >= kShortestBeginning && candidate.starts_with(word)) return std::string(candidate);
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

// A hint that names it; empty if none is near.
template <typename Candidates>
std::string did_you_mean(std::string_view word, const Candidates& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format("did you mean \"{}\"?", near);
}

}  // namespace sbpf
