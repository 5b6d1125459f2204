// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sha2.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sbpf {

// SHA-256 of all that was added, in this order.
class Sha256 {
 public:
  Sha256() { SHA256Init(&context_); }
  void add(const void* bytes, std::size_t size) {
    SHA256Update(&context_, static_cast<const std::uint8_t*>(bytes), size);
  }
  // To be called once.
  std::array<std::uint8_t, 32> finish() {
    std::array<std::uint8_t, 32> digest{};
    SHA256Final(digest.data(), &context_);
    return digest;
  }

 private:
  SHA2_CTX context_{};
};

}  // namespace sbpf
