// SPDX-License-Identifier: Apache-2.0
// utf8_at(): the character at a place of a text that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sbpf {

struct Utf8 {
  std::size_t bytes = 0;  // 0: what is there is not UTF-8
  char32_t character = 0;
};

// Overlong forms, surrogates and what is beyond Unicode are not UTF-8.
inline Utf8 utf8_at(std::string_view text, std::size_t at) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (at >= text.size()) return {};
  const std::uint8_t first = byte(at);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + bytes > text.size()) return {};
  char32_t character = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; i++) {
    if ((byte(at + i) & 0xc0) != 0x80) return {};
    character = character << 6 | (byte(at + i) & 0x3fu);
  }
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  return character < kLeast[bytes] || surrogate || character > 0x10ffff ? Utf8{} : Utf8{bytes, character};
}

}  // namespace sbpf
