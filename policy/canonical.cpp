// SPDX-License-Identifier: Apache-2.0
// Policy -> its one spelling. Everything is written out, in one order; parse() gives the same policy back.
#include "base/sha256.h"
#include "policy/keys.h"

namespace sbpf::policy {

std::string canonical(const Policy& policy) {
  std::string text;
  for (const internal::Key& key : internal::keys())
    if (key.write != nullptr) text += key.write(key, policy);
  return text;
}

std::array<std::uint8_t, 32> sha256(const Policy& policy) {
  const std::string text = canonical(policy);
  Sha256 digest;
  digest.add(text.data(), text.size());
  return digest.finish();
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text += {kHex[byte >> 4], kHex[byte & 0xf]};
  return text;
}

}  // namespace sbpf::policy
